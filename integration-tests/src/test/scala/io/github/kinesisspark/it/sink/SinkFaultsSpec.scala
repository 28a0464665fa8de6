package io.github.kinesisspark.it.sink

import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration._

import org.apache.spark.SparkException
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import software.amazon.awssdk.services.kinesis.model.UpdateMaxRecordSizeRequest

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, KinesisServerConfig, Occurrence, ResetPoint}
import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.testkit.Occurrence._

/** Injects faults into writes: every row is written, or the task fails with the cause. */
final class SinkFaultsSpec extends TestkitSuite {

  private def rows(count: Long): DataFrame =
    spark.range(0, count, 1, 2).select(concat(lit("row-"), col("id")).as("data"))

  private def fault(stream: TestStream, effect: FaultEffect, when: Occurrence, shard: Option[String] = None) =
    FaultRule(effect, Some("PutRecords"), Some(stream.name), shard, when)

  /** As long as nothing has ever worked. */
  private val MoreThanAMistakeGets = 7

  private def allOf(count: Int) = (0 until count).map(n => s"row-$n").sorted

  private def everyRowUnder(effect: FaultEffect, when: Occurrence, repeats: Boolean = false): Unit = {
    val stream = newStream(shards = 2)
    underFault(fault(stream, effect, when))(save(rows(3000), stream))
    val written = Written.texts(stream)
    (if (repeats) written.distinct else written).sorted shouldBe allOf(3000)
    if (repeats) written.size should be > 3000
  }

  private def failureOf(write: => Unit): String =
    Iterator
      .iterate[Throwable](intercept[SparkException](write))(_.getCause)
      .takeWhile(_ != null)
      .map(_.getMessage)
      .mkString

  describe("every row is written exactly once if") {
    it("some records of each call are refused") {
      everyRowUnder(RefuseEntries(0.3), Always)
      everyRowUnder(RefuseEntries(0.2, "InternalFailure"), Always)
    }

    it("all records of the first calls are refused") {
      everyRowUnder(RefuseEntries(1.0), First(12))
    }

    it("calls fail as a whole before they are processed") {
      everyRowUnder(ServiceCode("ProvisionedThroughputExceededException"), First(3))
      everyRowUnder(ServiceCode("KMSThrottlingException"), First(2))
      everyRowUnder(ServiceCode("InternalFailure", status = 500), First(3))
      everyRowUnder(HttpStatus(503), First(3))
      everyRowUnder(Reset(ResetPoint.BeforeCall), First(3))
    }

    it("credentials stay expired for several calls after earlier calls succeeded") {
      val stream = newStream(shards = 1)
      save(rows(10), stream)
      val expired = fault(stream, ServiceCode("ExpiredTokenException"), First(MoreThanAMistakeGets))
      underFault(expired)(save(spark.range(10, 20, 1, 1).select(concat(lit("row-"), col("id")).as("data")), stream))
      Written.texts(stream).sorted shouldBe allOf(20)
    }

    it("answers are slow") {
      everyRowUnder(Delay(700.millis), Every(2))
    }
  }

  describe("every row is written at least once if") {
    it("answers get lost") {
      everyRowUnder(Reset(ResetPoint.AfterCall), First(2), repeats = true)
      everyRowUnder(TruncatedBody, First(2), repeats = true)
      everyRowUnder(GarbageBody, First(2), repeats = true)
    }

    it("a task fails and is retried, and repeated rows keep their default partition key") {
      val stream    = newStream(shards = 2)
      val before    = SinkFaultsSpec.failures.get
      val failsOnce = udf { (id: Long) =>
        if (id == 19999 && SinkFaultsSpec.failures.getAndIncrement() == before) sys.error("once")
        s"row-$id"
      }.asNondeterministic()
      save(spark.range(0, 20000, 1, 2).select(failsOnce(col("id")).as("data")), stream, "writerBufferSize" -> "1m")
      val written = Written.records(stream).values.flatten.map(r => r.partitionKey -> r.data.asUtf8String).toSeq
      written.size should be > 20000
      written.distinct.size shouldBe 20000
      written.map(_._2).distinct.sorted shouldBe allOf(20000)
    }
  }

  describe("a task fails with a clear error if") {
    it("a record is refused for longer than maxRetryDuration") {
      val stream = newStream(shards = 1)
      underFault(fault(stream, RefuseEntries(1.0), Always)) {
        failureOf(save(rows(10), stream, "maxRetryDuration" -> "1s")) should (
          include("KINESIS_WRITE_TIMED_OUT") and include(stream.name) and include("shardId-000000000000") and
            include("ProvisionedThroughputExceededException") and include("0 rows of this task")
        )
      }
    }

    it("writing is denied, without a retry of the call") {
      val stream = newStream(shards = 1)
      underFault(fault(stream, ServiceCode("AccessDeniedException", "not authorized"), Always)) {
        failureOf(save(rows(10).coalesce(1), stream)) should (
          include("KINESIS_ACCESS_DENIED") and include("PutRecords") and include(stream.name)
        )
        // As often as Spark runs the task.
        kinesis.calls.count("PutRecords", stream.name) shouldBe 4
      }
    }

    it("the stream's KMS key is denied") {
      val stream = newStream(shards = 1)
      underFault(fault(stream, ServiceCode("KMSAccessDeniedException"), Always))(
        failureOf(save(rows(10), stream)) should include("kms:GenerateDataKey")
      )
    }
  }

  describe("records larger than 1 MiB") {
    lazy val large = spark.range(0, 6, 1, 1).select(rpad(col("id").cast("string"), 3 << 20, "x").as("data"))

    it("are written to a stream with a larger MaxRecordSize") {
      val stream = newStream(shards = 2)
      service.call(
        _.updateMaxRecordSize(UpdateMaxRecordSizeRequest.builder.streamARN(stream.arn()).maxRecordSizeInKiB(4096).build)
      )
      save(large, stream)
      Written.texts(stream).map(_.head).sorted.mkString shouldBe "012345"
    }

    it("are bad rows on a stream that refuses them, and can be skipped") {
      val stream = newStream(shards = 2)
      failureOf(save(large, stream)) should (include("KINESIS_BAD_RECORD") and include("MaxRecordSizeInKiB"))
      save(large.union(rows(100)), stream, "badRecords" -> "skip")
      Written.texts(stream).sorted shouldBe allOf(100)
    }
  }
}

object SinkFaultsSpec {
  // Tasks run in this JVM.
  private val failures = new AtomicInteger
}

/** A server that accepts at most 5 MiB per PutRecords call, as the service did before 2025. */
final class SmallCallsSpec extends TestkitSuite(KinesisServerConfig(putRecordsBytes = 5L << 20)) {
  it("large records are sent in smaller calls after a call above 5 MiB was refused") {
    val stream = newStream(shards = 2)
    val rows   = spark.range(0, 40, 1, 1).select(rpad(col("id").cast("string"), 900_000, "x").as("data"))
    save(rows, stream)
    Written.texts(stream).map(_.takeWhile(_ != 'x').toInt).sorted shouldBe (0 until 40)
  }
}

/** A server that enforces the service's limits per shard: 1,000 records and 1 MiB per second. */
final class ThrottledShardsSpec extends TestkitSuite(KinesisServerConfig(enforceLimits = true)) {
  it("every row is written once if tasks are faster than the shards and one shard gets most rows") {
    val stream = newStream(shards = 4)
    val skewed = when(col("id") % 4 < 3, "the same").otherwise(col("id").cast("string"))
    val rows = spark.range(0, 12_000, 1, 2).select(concat(lit("row-"), col("id")).as("data"), skewed.as("partitionKey"))
    save(rows, stream)
    Written.texts(stream).sorted shouldBe (0 until 12_000).map(n => s"row-$n").sorted
  }

  it("a throttled shard is retried with backoff, in fewer than 100 calls for 6,000 records") {
    val stream = newStream(shards = 1)
    save(spark.range(0, 6000, 1, 1).select(col("id").cast("string").as("data")), stream)
    Written.texts(stream).size shouldBe 6000
    // 12 full ones at first, and some 4 a second for 5 seconds.
    kinesis.calls.count("PutRecords", stream.name) should be < 100L
  }
}
