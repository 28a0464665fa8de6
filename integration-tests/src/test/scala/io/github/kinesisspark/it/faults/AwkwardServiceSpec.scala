package io.github.kinesisspark.it.faults

import java.nio.file.Path
import java.time.Duration

import scala.concurrent.duration.DurationInt

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.concurrent.ThreadSignaler
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, UnreachableExecutors}
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.FaultEffect.{EmptyAnswer, EmptyEvent}
import io.github.kinesisspark.testkit.Occurrence._

/** Reads from a server that answers awkwardly, and more so than the service: calls scan 10 s of a shard and 20 records,
  * connections carry two streams at once and end after a second or ten streams, a reshard
  * is listed three seconds late. Every record comes once and in order, as if nothing had been.
  */
@Slow
final class AwkwardServiceSpec extends AwkwardSuite(AwkwardServiceSpec.Harsh) {

  /** Puts records with gaps of time between them and after them, which take the server several answers each. */
  private def putWithGaps(stream: TestStream): Seq[String] =
    (1 to 2).flatMap { i =>
      val texts = put(stream, s"part-$i", 30)
      serverClock.advance(Duration.ofSeconds(25))
      texts
    }

  private def runAvailable(frame: DataFrame, at: Path): BatchLog = {
    val log   = new BatchLog
    val query = start(frame, at, Trigger.AvailableNow())(log.add)
    withClue("the query should have ended by itself: ")(query.awaitTermination(300000) shouldBe true)
    log
  }

  describe("empty answers with more to come") {
    byEach("leave a query with every record once and in order") { mode =>
      val source = newStream(shards = 2)
      val first  = putWithGaps(source)
      val log    = new BatchLog
      running(stream(source, mode), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe first.size)
        cameInSteps(source, mode)
        val second = put(source, "second", 30)
        eventually(log.rows.size shouldBe first.size + second.size)
        once(log, first ++ second)
      }
    }

    byEach("leave a batch read with every record once") { mode =>
      val source = newStream(shards = 2)
      val all    = putWithGaps(source)
      texts(batch(source, mode)).sorted shouldBe all.sorted
    }

    byEach("leave an AvailableNow query with every record once, and it ends") { mode =>
      val source = newStream(shards = 2)
      val all    = putWithGaps(source)
      once(runAvailable(stream(source, mode), checkpoint()), all)
    }
  }

  describe("a lag above 0 on an idle shard") {
    byEach("lets an AvailableNow query end with the records of the other shards") { mode =>
      val source = newStream(shards = 3)
      serverClock.advance(Duration.ofSeconds(60))
      val all = (1 to 20).map(i => s"data-$i")
      all.foreach(source.put(_))
      once(runAvailable(stream(source, mode), checkpoint()), all)
    }

    byEach("does not keep a query from a record that comes later") { mode =>
      val source = newStream(shards = 2)
      serverClock.advance(Duration.ofSeconds(60))
      val log = new BatchLog
      running(stream(source, mode), checkpoint())(log.add) { _ =>
        val late = put(source, "late", 20)
        eventually(log.rows.size shouldBe 20)
        once(log, late)
      }
    }
  }

  describe("a gap of which a look into the shard scans a part") {
    // A look by which processAllAvailable() returns has 5 s: the gap takes 36 calls, 5 of them a second.
    it("is scanned once by a query whose executors can't be reached, and processAllAvailable() returns") {
      val source = newStream(shards = 2)
      serverClock.advance(Duration.ofMinutes(6))
      val query = spark.readStream
        .format(classOf[UnreachableExecutors.Provider].getName)
        .options(options(source) + ("startingPosition" -> "TRIM_HORIZON"))
        .load()
        .writeStream
        .option("checkpointLocation", checkpoint().toString)
        .foreachBatch((_: DataFrame, _: Long) => ())
        .start()
      try failAfter(Span(60, Seconds))(query.processAllAvailable())(ThreadSignaler)
      finally query.stop()
    }

    it("is not scanned again by a run of AvailableNow after one that came to its end") {
      val source = newStream(shards = 2)
      val at     = checkpoint()
      def calls  = kinesis.calls.counts.getOrElse(CallLog.Key("GetRecords", Some(source.name), None), 0L)

      /** Calls of a run that reads a record of one of the shards. */
      def run(text: String) = {
        val before = calls
        source.put(text)
        runAvailable(stream(source, Mode.Polling), at).texts shouldBe Seq(text)
        calls - before
      }
      run("first")
      serverClock.advance(Duration.ofMinutes(6))
      run("second") should be > 36L
      run("third") should be < 36L
    }
  }

  describe("an answer that says 0 behind though there are records") {
    byEach("does not keep a query from them") { mode =>
      val source = newStream(shards = 2)
      val all    = put(source, "data", 60)
      val log    = new BatchLog
      underFault(falseTips(source, mode, First(2)): _*) {
        running(stream(source, mode), checkpoint())(log.add)(_ => eventually(log.rows.size shouldBe all.size))
      }
      once(log, all)
    }

    byEach("does not make a batch read miss them or declare them lost") { mode =>
      val source = newStream(shards = 1)
      val all    = put(source, "data", 60)
      underFault(falseTips(source, mode, Every(2)): _*) {
        texts(batch(source, mode)).sorted shouldBe all.sorted
      }
    }

    // The repeat is read by polling in both modes.
    byEach("does not make the repeat of a batch declare them lost") { mode =>
      val source = newStream(shards = 1)
      val at     = checkpoint()
      val log    = new BatchLog
      val all    = put(source, "data", 60)
      running(stream(source, mode), at)(log.add) { _ =>
        eventually(log.rows.size shouldBe all.size)
        awaitCommit(at, log)
      }
      eraseCommit(at, log.all.last._1)
      val last = log.all.last._1
      underFault(falseTips(source, Mode.Polling, Every(2)): _*) {
        running(stream(source, mode), at)(log.add) { query =>
          eventually((log.replays(last) || !query.isActive) shouldBe true)
          query.exception shouldBe None
        }
      }
      once(log, all)
    }
  }

  describe("connections with few streams that get GOAWAY") {
    byEach("leave a query over more shards than a connection has streams with every record once and in order") { mode =>
      val source   = newStream(shards = 6)
      val log      = new BatchLog
      val expected = Seq.newBuilder[String]
      running(stream(source, mode), checkpoint())(log.add) { _ =>
        for (round <- 1 to 4) {
          expected ++= put(source, s"round-$round", 60)
          eventually(log.rows.size shouldBe 60 * round)
        }
      }
      once(log, expected.result())
    }
  }

  describe("a listing that lags behind a reshard") {
    byEach("leaves a query with every record once, parents before children") { mode =>
      val source = newStream(shards = 1)
      val parent = source.onlyShard().shardId
      val before = put(source, "before", 40)
      val log    = new BatchLog
      running(stream(source, mode, "shardDiscoveryInterval" -> "500ms"), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe before.size)
        kinesis.streams.split(source.name, parent)
        // The reshard takes effect after a while, and then the parent takes no more records.
        val after = putUntilSplit(source, parent)
        eventually(log.rows.size shouldBe before.size + after.size)
        once(log, before ++ after)
        parentsComeFirst(source, log.rows.map(_.shardId))
      }
    }
  }

  /** Puts records until some went to both children, while the listing does not show these. */
  private def putUntilSplit(source: TestStream, parent: String): Seq[String] = {
    def putOne(i: Int): (String, String) = s"after-$i" -> source.put(s"after-$i", s"key-$i").shardId
    val placed                           = Iterator
      .from(1)
      .map(putOne)
      .scanLeft(Vector.empty[(String, String)])(_ :+ _)
      .dropWhile(_.map(_._2).filter(_ != parent).distinct.size < 2)
      .next()
    withClue("a listing that did not lag, so nothing was tested: ")(source.shards().map(_.shardId) shouldBe Seq(parent))
    placed.map(_._1)
  }

  /** Answers or events without records, of which the second or each so many says 0 behind. */
  private def falseTips(source: TestStream, mode: Mode, occurrence: Occurrence): Seq[FaultRule] = {
    val polling = FaultRule(EmptyAnswer(0), Some("GetRecords"), Some(source.name), occurrence = occurrence)
    val fanOut  = FaultRule(EmptyEvent(0), Some("SubscribeToShard"), Some(source.name), occurrence = occurrence)
    if (mode == Mode.Polling) Seq(polling) else Seq(fanOut)
  }

  /** The server must have answered in steps: with answers without records, or with more events than records need. */
  private def cameInSteps(source: TestStream, mode: Mode): Unit = mode match {
    case Mode.Polling =>
      val empty = kinesis.calls.recent.count { call =>
        call.action == "GetRecords" && call.stream.contains(source.name) && call.records == 0
      }
      // Two gaps in each of two shards; how many answers a gap takes depends on when it is read.
      empty should be >= 4
    case Mode.FanOut =>
      kinesis.subscriptions.live.filter(_.stream == source.name).map(_.events).sum should be > 8L
  }
}

object AwkwardServiceSpec {
  private val Harsh = KinesisServerConfig.realistic.copy(
    reads = ReadBehavior(scanSpan = Some(10.seconds), emptyHistory = 15.seconds, scanRecords = 20),
    control = ControlPlane.realistic.copy(listingLag = 3.seconds),
    http = HttpBehavior(maxConcurrentStreams = 2, goAwayAfterStreams = Some(10), goAwayAfter = Some(1.second))
  )
}
