package io.github.kinesisspark.it.faults

import java.nio.file.Path
import java.time.{Duration, Instant}

import scala.concurrent.duration.DurationInt

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Tag
import org.scalatest.concurrent.{Signaler, ThreadSignaler}
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.kinesisspark.it.{AwaitsEngine, TestStream}
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.FaultEffect.{EmptyAnswer, EmptyEvent}
import io.github.kinesisspark.testkit.Occurrence._

/** The service's awkward answers, all of them at once and harsher than the service itself: calls that scan 10 s of a shard
  * and 20 records, arrival times that go back by up to 5 s, connections with two streams that end after a second or ten
  * streams. Every record comes once and in order, as if nothing had been.
  */
final class AwkwardServiceSpec extends TestkitSuite(AwkwardServiceSpec.Harsh) {
  import AwkwardServiceSpec.Patience

  // A read that never ends fails its test, and the others run.
  implicit private val signaler: Signaler                = ThreadSignaler
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Patience, Span(50, Millis))

  /** What keeps a test out of `make test` by one way of reading. */
  private def awaiting(modes: Mode*)(mode: Mode): Seq[Tag] = if (modes.contains(mode)) Seq(AwaitsEngine) else Nil

  private val neither = awaiting() _

  /** Registers one test for polling and one for fan-out. */
  private def byEach(title: String, tags: Mode => Seq[Tag] = neither)(body: Mode => Unit): Unit =
    Mode.both.foreach(mode => it(s"$title, by $mode", tags(mode): _*)(failAfter(Patience)(body(mode))))

  private def stream(source: TestStream, mode: Mode, more: (String, String)*): DataFrame =
    load(source, mode.options.toSeq ++ more: _*)

  private def batch(source: TestStream, mode: Mode, more: (String, String)*): DataFrame = {
    val consumer = if (mode == Mode.FanOut) Seq("efo.consumerName" -> "batch") else Nil
    backfill(source, mode.options.toSeq ++ consumer ++ more: _*)
  }

  /** Puts records with gaps of time between them and after them, which take the server several answers each. */
  private def putWithGaps(stream: TestStream): Seq[String] = {
    val all = (1 to 3).flatMap { i =>
      val texts = put(stream, s"part-$i", 30)
      serverClock.advance(Duration.ofSeconds(45))
      texts
    }
    all
  }

  private def runAvailable(frame: DataFrame, at: Path): BatchLog = {
    val log   = new BatchLog
    val query = frame.writeStream
      .option("checkpointLocation", at.toString)
      .trigger(Trigger.AvailableNow())
      .foreachBatch((batch: DataFrame, id: Long) => log.add(batch, id))
      .start()
    withClue("the query should have ended by itself: ")(query.awaitTermination(60000) shouldBe true)
    log
  }

  private def once(log: BatchLog, expected: Seq[String]): Unit = {
    log.texts.sorted shouldBe expected.sorted
    inOrder(log)
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
      underFault(falseTips(source, mode, Every(2)): _*) {
        running(stream(source, mode), at)(log.add)(_ => eventually(log.replays should contain(log.all.last._1)))
      }
      once(log, all)
    }
  }

  describe("arrival times that go back") {
    byEach("leave a query that starts at a time with every record that arrived then or later") { mode =>
      val source = newStream(shards = 1)
      putOver(source, seconds = 15)
      val arrivals = arrivalsOf(source)
      val time     = arrivals.map(_._2).sorted.apply(arrivals.size / 2)
      val log      = new BatchLog
      running(stream(source, mode, "startingPosition" -> s"AT_TIMESTAMP:$time"), checkpoint())(log.add) { _ =>
        val atLeast = arrivals.filterNot(_._2.isBefore(time)).map(_._1)
        eventually(log.texts should contain allElementsOf atLeast)
        // In the order of sequence numbers, with what lies between them.
        log.texts shouldBe arrivals.dropWhile(_._2.isBefore(time)).map(_._1)
      }
    }

    byEach("leave two batch reads that meet at a time with every record once between them") { mode =>
      val source = newStream(shards = 1)
      putOver(source, seconds = 15)
      val arrivals = arrivalsOf(source)
      val time     = arrivals.map(_._2).sorted.apply(arrivals.size / 2)
      val before   = texts(batch(source, mode, "endingPosition" -> s"AT_TIMESTAMP:$time"))
      val after    = texts(batch(source, mode, "startingPosition" -> s"AT_TIMESTAMP:$time"))
      (before ++ after).sorted shouldBe arrivals.map(_._1).sorted
    }

    byEach("leave a query that starts at LATEST with every record that is put once it runs") { mode =>
      val source = newStream(shards = 2)
      put(source, "before", 20)
      serverClock.advance(Duration.ofSeconds(30))
      val log = new BatchLog
      running(stream(source, mode, "startingPosition" -> "LATEST"), checkpoint())(log.add) { query =>
        eventually(query.recentProgress should not be empty)
        val after = put(source, "after", 40)
        eventually(log.texts.sorted shouldBe after.sorted)
      }
    }

    byEach("leave batches that are limited by skew with every record once and in order") { mode =>
      val source = newStream(shards = 2)
      val all    = putOver(source, seconds = 30)
      val log    = new BatchLog
      running(stream(source, mode, "maxShardSkew" -> "1s", "maxRecordsPerTrigger" -> "15"), checkpoint())(log.add)(_ =>
        eventually(log.rows.size shouldBe all.size)
      )
      once(log, all)
    }
  }

  describe("a time in the future that the service refuses") {
    byEach("starts a query with what arrives from then on") { mode =>
      val source = newStream(shards = 2)
      put(source, "early", 20)
      val time = serverClock.instant.plus(Duration.ofSeconds(60))
      val log  = new BatchLog
      running(stream(source, mode, "startingPosition" -> s"AT_TIMESTAMP:$time"), checkpoint())(log.add) { query =>
        eventually(query.recentProgress should not be empty)
        serverClock.advance(Duration.ofSeconds(90))
        val late = put(source, "late", 20)
        eventually(log.texts.sorted shouldBe late.sorted)
      }
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

  /** Puts 60 records over so many seconds of the server's clock. */
  private def putOver(source: TestStream, seconds: Int): Seq[String] = {
    val texts = (1 to 60).map { i =>
      kinesis.streams.put(source.name, s"key-$i", s"data-$i")
      serverClock.advance(Duration.ofMillis(seconds * 1000L / 60))
      s"data-$i"
    }
    serverClock.advance(Duration.ofSeconds(10))
    texts
  }

  /** The texts and arrival times of the only shard's records, in the order of their sequence numbers. */
  private def arrivalsOf(source: TestStream): Vector[(String, Instant)] = {
    val arrivals = backfill(source)
      .selectExpr("cast(data as string)", "approximateArrivalTimestamp", "sequenceNumber")
      .collect()
      .sortBy(row => BigInt(row.getString(2)))
      .map(row => row.getString(0) -> row.getTimestamp(1).toInstant)
      .toVector
    withClue("arrival times that never went back, so nothing was tested: ")(
      arrivals.zip(arrivals.tail).exists { case (one, next) => next._2.isBefore(one._2) } shouldBe true
    )
    arrivals
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
      empty should be > 20
    case Mode.FanOut =>
      kinesis.subscriptions.live.filter(_.stream == source.name).map(_.events).sum should be > 20L
  }
}

object AwkwardServiceSpec {
  // Each test takes a few seconds.
  private val Patience = Span(40, Seconds)

  private[faults] val Harsh = KinesisServerConfig.realistic.copy(
    reads = ReadBehavior(
      scanSpan = Some(10.seconds),
      emptyHistory = 25.seconds,
      scanRecords = 20,
      arrivalsBackBy = 5.seconds
    ),
    http = HttpBehavior(maxConcurrentStreams = 2, goAwayAfterStreams = Some(10), goAwayAfter = Some(1.second))
  )
}
