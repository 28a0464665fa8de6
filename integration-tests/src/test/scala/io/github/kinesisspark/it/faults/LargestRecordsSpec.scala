package io.github.kinesisspark.it.faults

import org.scalatest.Suites
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.source.{Mode, TestkitSuite}
import io.github.kinesisspark.testkit.model.{StreamMode, StreamSettings}

/** 200 shards that are caught up, and then 2% of their records are of 10 MiB, the largest that a stream may take
  * (MaxRecordSizeInKiB=10240). The query has a JVM of its own.
  *
  * `readerBufferSize` is the smallest instead of the default, because the bound is what is tested.
  *
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/large-records.html Large records]]
  */
@Slow
final class LargestRecords(override protected val mode: Mode) extends TestkitSuite {
  import LargestRecords._

  override def suiteName: String = s"Largest records by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  /** A record that is being decoded is there in two forms by polling, and in several larger ones by fan-out, whose events are JSON; and as the row that it
    * becomes.
    */
  private val BeingDecoded = mode match {
    case Mode.Polling => 3
    case Mode.FanOut  => 7
  }

  private val Bound = (16L << 20) + BeingDecoded * (10L << 20)

  private def testOf(large: Int): Unit = {
    val name = s"large-${mode.name}-$large"
    kinesis.streams.createStream(name, Shards, StreamSettings(24, 10240, StreamMode.Provisioned))
    val stream = new io.github.kinesisspark.it.TestStream(service, name)
    val shards = kinesis.streams.shards(name).map(_.id)
    val query  = ForkedQuery.start(
      options(stream) ++ mode.options ++ Map("startingPosition" -> "TRIM_HORIZON", "readerBufferSize" -> "16m"),
      heap = "640m"
    )
    try {
      shards.foreach(kinesis.streams.putInto(name, _, "key", "first".getBytes))
      eventually(timeout(Span(300, Seconds)))(query.look().rows shouldBe Shards)
      // Some heartbeats later everybody knows that it has caught up.
      val idle = query.collected().heap
      query.hold()
      val small = new Array[Byte](100)
      val data  = new Array[Byte](10 << 20)
      for (n <- 0 until large) {
        val shard = shards((n * Shards / large) % Shards)
        kinesis.streams.putInto(name, shard, "large", data)
        for (_ <- 1 to 49) kinesis.streams.putInto(name, shard, "small", small)
      }
      // While the batch waits, readers take what they may and stand still then.
      val waiting = awaitStandstill(query)
      info(s"$mode: ${idle >> 20} MiB idle, ${waiting >> 20} MiB with $large records of 10 MiB waiting")
      (waiting - idle) should be <= Bound
      query.release()
      eventually(timeout(Span(600, Seconds)))(query.look().rows shouldBe Shards + 50L * large)
      val end = query.look()
      end.failure shouldBe empty
      query.collected().heap - idle should be <= Bound
    } finally query.close()
  }

  /** The heap after a collection, once it has not grown for five seconds. */
  private def awaitStandstill(query: ForkedQuery): Long = {
    var most  = 0L
    var since = System.nanoTime()
    eventually(timeout(Span(120, Seconds))) {
      val heap = query.collected().heap
      if (heap > most + (1L << 20)) {
        most = heap
        since = System.nanoTime()
      }
      (System.nanoTime() - since) / 1e9 should be >= 5.0
    }
    most
  }

  describe("records of 10 MiB in 200 shards that have caught up, with readerBufferSize=16m") {
    if (mode == Mode.Polling)
      it(s"are read by $mode, 4 of them among 200, with the buffer and $BeingDecoded records of heap at most")(
        testOf(large = 4)
      )

    it(s"are read by $mode, 60 of them among 3,000, with the buffer and $BeingDecoded records of heap at most")(
      testOf(large = 60)
    )
  }
}

object LargestRecords {
  private val Shards = 200

}

class LargestRecordsSpec extends Suites(Mode.both.map(new LargestRecords(_)): _*)
