package io.github.kinesisspark.it.faults

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.Suites
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{Mode, TestkitSuite}

/** A batch that takes minutes while the stream holds more than the readers' memory: 220 records of 1 MB against 128 MB, the default of
  * an executor with Spark's 1 GB of heap; this JVM has more. The service's clock is moved, so that a subscription's five minutes and an iterator's are
  * over meanwhile; the slow form lets the machine's own clock run, by which the client's read timeout counts.
  */
final class Backpressure(override protected val mode: Mode) extends TestkitSuite with CapturedLogs {
  import Backpressure._

  override def suiteName: String = s"Backpressure by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private def sent(stream: TestStream): Sent = {
    val live = kinesis.subscriptions.live.filter(_.stream == stream.name)
    val read = kinesis.calls.recent.filter(c => c.action == "GetRecords" && c.stream.contains(stream.name))
    Sent(
      kinesis.calls.count(mode.readCall, stream.name),
      live.map(_.events).sum,
      live.map(_.records).sum + read.map(_.records.toLong).sum
    )
  }

  /** Until many looks in a row have seen nothing new, although the readers' memory is half full at least and there is more. They are
    * counted, because a clock also runs while a collection of garbage holds the readers up.
    */
  private def awaitStandstill(stream: TestStream): Sent = {
    var last  = sent(stream)
    var looks = 0
    eventually {
      val now = sent(stream)
      looks = if (now == last && now.records * RecordBytes >= BufferBytes / 2) looks + 1 else 0
      last = now
      looks should be >= QuietLooks
    }
    // The buffer and what is on its way; not all that the stream holds.
    withClue(s"$last: ")(last.records * RecordBytes should be <= BufferBytes + MostAhead)
    last
  }

  /** Fills the readers, holds the first batch back during `meanwhile`, and awaits all records. Failures in earlier tries do not count: the
    * readers were not full yet.
    *
    * @param meanwhile calls the function that it gets when a try begins
    */
  private def heldBack(meanwhile: (StreamingQuery, TestStream, () => Unit) => Unit): Unit = {
    val stream   = newStream(shards = 1)
    val data     = Array.fill(RecordBytes)('x'.toByte)
    val keys     = (1 to Records).map(n => f"key-$n%05d")
    val release  = new CountDownLatch(1)
    val read     = new ConcurrentLinkedQueue[String]
    var tries    = 0
    var lastFrom = 0
    keys.foreach(kinesis.streams.put(stream.name, _, data))
    val logs = watchingLogs() { said =>
      def tryBegins(): Unit = {
        if (tries > 0) lastFrom = said().length
        tries += 1
      }
      running(load(stream, "readerBufferSize" -> "128m"), checkpoint()) { (batch: DataFrame, _: Long) =>
        val rows = batch.selectExpr("partitionKey", "length(data)").collect()
        rows.foreach(row => row.getInt(1) shouldBe RecordBytes)
        read.addAll(rows.map(_.getString(0)).toSeq.asJava)
        if (rows.nonEmpty) release.await(20, TimeUnit.MINUTES): Unit
      } { query =>
        try meanwhile(query, stream, () => tryBegins())
        finally release.countDown()
        eventually(read.size should be >= Records)
        query.exception shouldBe empty
        // A try that comes too early may end one subscription without an event. Progress comes only after the batch.
        if (mode == Mode.FanOut) metric(query, "subscriptionsFailed") should be <= tries - 1L
        else metric(query, "callsFailed") shouldBe 0L
      }
      said().drop(lastFrom)
    }
    read.asScala.toSeq shouldBe keys
    // A stream of a test before may have its repeated lines counted and logged meanwhile.
    logs.linesIterator
      .filter(l => l.startsWith("WARN io.github.kinesisspark") || l.contains("TIMED_OUT"))
      .filter(l => !l.contains(":stream/") || l.contains(stream.name))
      .toSeq shouldBe empty
  }

  describe("a batch that holds the query back while the stream continues") {
    it("for 6 minutes of the service's clock costs no record, no call and no failure") {
      heldBack { (query, stream, tryBegins) =>
        // Again where it only seemed full: on a busy machine an answer of 10 MiB can take longer than the looks. A subscription or an
        // iterator ends in each of the tries.
        eventually(timeout(Span(300, Seconds))) {
          val full = awaitStandstill(stream)
          tryBegins()
          for (_ <- 1 to 72) serverClock.advance(java.time.Duration.ofSeconds(5))
          // Whoever would ask at the end of a subscription or iterator has had the time to.
          val moved = System.nanoTime()
          eventually((System.nanoTime() - moved) should be >= 5.seconds.toNanos)
          sent(stream) shouldBe full
        }
        query.isActive shouldBe true
      }
    }

    it(
      "for 7 minutes of the machine's clock, longer than the client's read timeout, costs no record and no failure",
      Slow
    ) {
      heldBack { (query, stream, tryBegins) =>
        val full = awaitStandstill(stream)
        tryBegins()
        val began = System.nanoTime()
        eventually(timeout(Span(600, Seconds)), interval(Span(5, Seconds))) {
          query.isActive shouldBe true
          sent(stream).records should be <= full.records
          (System.nanoTime() - began) should be >= 7.minutes.toNanos
        }
        sent(stream).calls shouldBe full.calls
      }
    }
  }
}

object Backpressure {

  /** What has left the server for the stream's only shard, and how often it was asked. */
  private final case class Sent(calls: Long, events: Long, records: Long)

  private val Records     = 220
  private val RecordBytes = 1000000

  private val BufferBytes = 128L << 20

  /** At 50 ms each. */
  private val QuietLooks = 80

  /** An answer of 10 MiB, or an event of 1 MB and the connection's window. */
  private val MostAhead = 12L << 20
}

class BackpressureSpec extends Suites(Mode.both.map(new Backpressure(_)): _*)
