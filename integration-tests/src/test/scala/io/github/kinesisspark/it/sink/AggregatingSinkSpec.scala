package io.github.kinesisspark.it.sink

import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.atomic.{AtomicLong, AtomicReference}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._

import org.apache.spark.SparkException
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger

import io.github.kinesisspark.aggregation.{AggregatedRecord, UserRecords}
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.position.HashKeyRange
import io.github.kinesisspark.testkit.{FaultRule, Occurrence, ResetPoint}
import io.github.kinesisspark.testkit.FaultEffect._

/** Writes rows with `aggregate`, and reads them back by this connector's source and by the KCL's deaggregation. */
final class AggregatingSinkSpec extends TestkitSuite {
  import AggregatingSinkSpec._

  private val keys = 100

  private def rows(count: Long): DataFrame = spark
    .range(0, count, 1, 1)
    .select(
      concat(lit("row-"), col("id")).as("data"),
      concat(lit("key-"), col("id") % keys).as("partitionKey"),
      // Those of one key have one.
      when(col("id") % keys === 7, UserHashKey.toString).as("explicitHashKey")
    )

  override protected def save(rows: DataFrame, stream: TestStream, more: (String, String)*): Unit =
    super.save(rows, stream, ("aggregate" -> "true") +: more: _*)

  private def written(count: Int): Vector[Shown] = (0 until count).toVector.map { n =>
    Shown(s"row-$n", s"key-${n % keys}", Option.when(n % keys == 7)(UserHashKey))
  }

  /** In the order of each shard, parents before their children. */
  private def readBySource(stream: TestStream): Vector[Shown] = {
    val name = s"t${UUID.randomUUID.toString.take(8)}"
    load(stream).writeStream
      .format("memory")
      .queryName(name)
      .option("checkpointLocation", checkpoint().toString)
      .trigger(Trigger.AvailableNow)
      .start()
      .awaitTermination()
    spark
      .table(name)
      .selectExpr(
        "string(data)",
        "partitionKey",
        "explicitHashKey",
        "shardId",
        "sequenceNumber",
        "subSequenceNumber"
      )
      .collect()
      .toVector
      .sortBy(r => (r.getString(3), BigInt(r.getString(4)), r.getLong(5)))
      .map(r => Shown(r.getString(0), r.getString(1), Option(r.getString(2)).map(BigInt(_))))
  }

  private def ranges(stream: TestStream): Map[String, HashKeyRange] = stream
    .shards()
    .map { shard =>
      shard.shardId -> HashKeyRange(TestStream.startingHash(shard), TestStream.endingHash(shard))
    }
    .toMap

  /** In the order of each shard, parents before their children. */
  private def readByKcl(stream: TestStream): Vector[String] = {
    val range = ranges(stream)
    Written.records(stream).toVector.sortBy(_._1).flatMap { case (shard, records) =>
      records
        .flatMap(record => UserRecords.toKcl(record.data.asByteArray, range(shard)))
        .map(r => new String(r._1.data))
    }
  }

  private def recordsIn(stream: TestStream): Int = Written.records(stream).values.map(_.size).sum

  /** User records that readers of their shard leave out. */
  private def strangers(stream: TestStream): Int = {
    val range = ranges(stream)
    Written
      .records(stream)
      .map { case (shard, records) =>
        records.map { record =>
          AggregatedRecord.read(record.data.asByteArray) match {
            case all: AggregatedRecord.Aggregated => all.records.size - all.within(range(shard)).size
            case _                                => 0
          }
        }.sum
      }
      .sum
  }

  private def inOrder(texts: Seq[Shown]): Unit =
    texts.distinct.groupBy(_.partitionKey).values.foreach { ofKey =>
      val numbers = ofKey.map(_.text.stripPrefix("row-").toInt)
      numbers shouldBe numbers.sorted
    }

  private def messages(failure: Throwable): String =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString

  describe("aggregated rows") {
    it("are read back with data and keys from few records, by the source and by the KCL") {
      val stream = newStream(shards = 4)
      save(rows(5000), stream)
      readBySource(stream).sortBy(_.text) shouldBe written(5000).sortBy(_.text)
      readByKcl(stream).sorted shouldBe written(5000).map(_.text).sorted
      recordsIn(stream) should be < 50
    }

    it("are read back in order per key if ordered, although some records are refused") {
      val stream = newStream(shards = 2)
      underFault(FaultRule(RefuseEntries(0.2), Some("PutRecords"), Some(stream.name))) {
        save(rows(5000), stream, "ordered" -> "true", "aggregateSize" -> "2k")
      }
      val read = readBySource(stream)
      read.sortBy(_.text) shouldBe written(5000).sortBy(_.text)
      inOrder(read)
    }

    it("are all read back if answers get lost") {
      val stream = newStream(shards = 2)
      underFault(
        FaultRule(Reset(ResetPoint.AfterCall), Some("PutRecords"), Some(stream.name), occurrence = Occurrence.First(2))
      )(save(rows(5000), stream))
      readBySource(stream).distinct.sortBy(_.text) shouldBe written(5000).sortBy(_.text)
    }

    it("go to the streams named in their column") {
      val Seq(a, b) = Seq.fill(2)(newStream(shards = 1)): @unchecked
      val named     = when(col("partitionKey") === "key-3", a.name).otherwise(b.arn())
      save(rows(1000).withColumn("targetStream", named), b)
      readBySource(a).map(_.text) shouldBe written(1000).filter(_.partitionKey == "key-3").map(_.text)
      readBySource(b) should have size 990
    }

    it("are counted as user records and as records") {
      val stream = newStream(shards = 2)
      val source = Files.createTempDirectory("rows-").toString
      rows(2000).write.mode("append").parquet(source)
      val query = spark.readStream
        .schema("data string, partitionKey string, explicitHashKey string")
        .parquet(source)
        .writeStream
        .format("kinesis")
        .options(options(stream) + ("aggregate" -> "true"))
        .option("checkpointLocation", checkpoint().toString)
        .trigger(Trigger.AvailableNow)
        .start()
      query.awaitTermination()
      val metrics = query.lastProgress.sink.metrics
      metrics.get("userRecords") shouldBe "2000"
      metrics.get("records").toInt shouldBe recordsIn(stream)
      metrics.get("records").toInt should be < 100
    }
  }

  describe("a split and a merge during an aggregated write") {
    for (ordered <- Seq(false, true))
      it(s"lose no row for the source and the KCL${if (ordered) ", and keep their order per key" else ""}") {
        val stream = newStream(shards = 2)
        at(
          Map(
            2000L -> (() => kinesis.streams.split(stream.name, stream.openShards().head.shardId)),
            4000L -> (() => {
              val Seq(_, b, c) = stream.openShards().map(_.shardId): @unchecked
              kinesis.streams.merge(stream.name, b, c)
            }),
            6000L -> (() => kinesis.streams.split(stream.name, stream.openShards().last.shardId))
          )
        ) {
          val watched = rows(8000).withColumn("data", watch(col("data")))
          // So small that rows are on their way all the time.
          save(watched, stream, "ordered" -> ordered.toString, "aggregateSize" -> "1k", "writerBufferSize" -> "1m")
        }
        stream.shards() should have size 7
        withClue("no user record got to a wrong shard, so nothing was tested: ")(strangers(stream) should be > 0)
        val read = readBySource(stream)
        read.distinct.sortBy(_.text) shouldBe written(8000).sortBy(_.text)
        readByKcl(stream).distinct.sorted shouldBe written(8000).map(_.text).sorted
        if (ordered) inOrder(read)
      }
  }

  describe("with aggregation") {
    it("a row that cannot be written fails its task, or is skipped with badRecords=skip") {
      val stream = newStream(shards = 1)
      val bad    = rows(100).withColumn("data", when(col("data") =!= "row-7", col("data")))
      messages(intercept[SparkException](save(bad, stream))) should (
        include("KINESIS_BAD_RECORD") and include("data is null") and include("-0-7")
      )
      recordsIn(stream) shouldBe 0
      save(bad, stream, "badRecords" -> "skip")
      readBySource(stream) should have size 99
    }

    it("a row that is too large for the stream fails or is skipped alone") {
      val stream = newStream(shards = 1)
      val large  =
        rows(100).withColumn("data", when(col("data") === "row-7", rpad(lit(""), 2 << 20, "x")).otherwise(col("data")))
      messages(intercept[SparkException](save(large, stream))) should (include("KINESIS_BAD_RECORD") and include(
        "-0-7"
      ))
      val other = newStream(shards = 1)
      save(large, other, "badRecords" -> "skip", "ordered" -> "true")
      readBySource(other).map(_.text) shouldBe written(100).map(_.text).filterNot(_ == "row-7")
    }

    it("a record refused beyond maxRetryDuration fails its task with the number of unwritten rows") {
      val stream = newStream(shards = 1)
      underFault(FaultRule(RefuseEntries(1.0), Some("PutRecords"), Some(stream.name))) {
        messages(intercept[SparkException](save(rows(100), stream, "maxRetryDuration" -> "1s"))) should (
          include("KINESIS_WRITE_TIMED_OUT") and include("0 rows of this task; 100 are left") and include("-0-0 ")
        )
      }
    }
  }

  for ((interrupts, how) <- Seq(false -> "without an interrupt", true -> "with an interrupt"))
    it(s"a task that is killed $how while it lists shards ends without waiting for the answer") {
      val stream = newStream(shards = 1)
      val group  = UUID.randomUUID.toString
      val ended  = new AtomicLong
      val watch  = new SparkListener {
        override def onTaskEnd(end: SparkListenerTaskEnd): Unit = ended.set(end.taskInfo.finishTime)
      }
      underFault(FaultRule(Delay(2.minutes), Some("ListShards"), Some(stream.name))) {
        val write = Future {
          spark.sparkContext.setJobGroup(group, "killed", interruptOnCancel = interrupts)
          // No time limit of the call ends the task before the answer comes.
          save(rows(10).coalesce(1), stream, "readTimeout" -> "5m")
        }(ExecutionContext.global)
        eventually(kinesis.faults.hits should be > 0L)
        spark.sparkContext.addSparkListener(watch)
        try {
          val killed = System.currentTimeMillis
          spark.sparkContext.cancelJobGroup(group)
          Await.ready(write, 5.minutes)
          eventually(ended.get should be > 0L)
          (ended.get - killed) should be < 30.seconds.toMillis
        } finally spark.sparkContext.removeSparkListener(watch)
      }
    }

  it("a write without permission for ListShards fails with that permission") {
    val stream = newStream(shards = 1)
    underFault(
      FaultRule(ServiceCode("AccessDeniedException", "not authorized"), Some("ListShards"), Some(stream.name))
    ) {
      messages(intercept[SparkException](save(rows(10), stream))) should (
        include("KINESIS_ACCESS_DENIED") and include("ListShards") and include(stream.name)
      )
    }
  }
}

object AggregatingSinkSpec {

  final case class Shown(text: String, partitionKey: String, explicitHashKey: Option[BigInt])

  private val UserHashKey = BigInt(1) << 127

  // Tasks run in this JVM.
  private val events = new AtomicReference(Map.empty[Long, () => Unit])

  /** What happens when a task comes to a row, once. */
  private def at(what: Map[Long, () => Unit])(body: => Unit): Unit = {
    events.set(what)
    body
    assert(events.get.isEmpty, "some of it never happened")
  }

  private val watch = udf { (text: String) =>
    val row = text.stripPrefix("row-").toLong
    events.getAndUpdate(_ - row).get(row).foreach(_())
    text
  }.asNondeterministic()
}
