package io.github.kinesisspark.it.faults

import java.time.Duration
import java.util.concurrent.ConcurrentSkipListMap

import scala.concurrent.duration.{Duration => _, _}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Suites
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.Slow
import io.github.kinesisspark.it.source.{Mode, TestkitSuite}
import io.github.kinesisspark.testkit.KinesisServerConfig

/** Triggers that are longer than the buffer lasts, against a server that enforces the service's limits. */
final class SlowTrigger(override protected val mode: Mode)
    extends TestkitSuite(KinesisServerConfig(enforceLimits = true)) {
  import SlowTrigger._

  override def suiteName: String = s"Slow triggers by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  /** Works off what 90% of the shards' read limit allow in `intervals`, which have arrived at the shards' write limit, in two batches more at most:
    * the first may begin before anything is read, and the last may end in the midst of the next.
    */
  private def worksOff(trigger: FiniteDuration, shards: Int, intervals: Int): Unit = {
    val stream  = newStream(shards)
    val batches = new ConcurrentSkipListMap[Long, Long]
    val ids     = kinesis.streams.shards(stream.name).map(_.id)
    val records = (trigger.toSeconds * intervals * shards * BytesPerSecond * 9 / 10 / Record.length).toInt
    (0 until records).foreach { i =>
      if (i % shards == 0) serverClock.advance(BetweenRecords)
      kinesis.streams.putInto(stream.name, ids(i % shards), "k", Record)
    }
    def read = batches.values.asScala.sum
    // A buffer that fills in seconds, as the default's does with many shards.
    val query = load(stream, "readerBufferSize" -> "16m").writeStream
      .trigger(Trigger.ProcessingTime(trigger.toMillis))
      .option("checkpointLocation", checkpoint().toString)
      .foreachBatch((batch: DataFrame, id: Long) => batches.put(id, batch.count()): Unit)
      .start()
    try {
      eventually(timeout(Span((trigger * (intervals + 3)).toSeconds + 60, Seconds))) {
        query.exception shouldBe None
        assert(read == records || batches.size >= intervals + 2)
      }
      withClue(s"rows of the batches, one every $trigger: ${batches.values.asScala.mkString(", ")}: ")(
        read shouldBe records
      )
    } finally {
      query.stop()
      // It has up to a gigabyte of this JVM's heap.
      kinesis.streams.deleteStream(stream.name)
    }
  }

  describe("a query keeps up with 90% of its shards' read limit") {
    it("with a trigger of 10 seconds and a buffer that fills in 2")(
      worksOff(10.seconds, shards = 4, intervals = 2)
    )
    it("with a trigger of 1 minute and a buffer that fills in 4 seconds", Slow)(
      worksOff(1.minute, shards = 2, intervals = 2)
    )
    it("with a trigger of 10 minutes and a buffer that fills in 8 seconds", Slow)(
      worksOff(10.minutes, shards = 1, intervals = 1)
    )
  }
}

object SlowTrigger {

  /** @see [[https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html Kinesis: quotas and limits]] */
  private val BytesPerSecond = 2L << 20

  private val Record = new Array[Byte](200000)

  /** A shard takes 1 MiB a second. */
  private val BetweenRecords = Duration.ofMillis(Record.length * 1000L / (1L << 20))
}

class SlowTriggerSpec extends Suites(Mode.both.map(new SlowTrigger(_)): _*)
