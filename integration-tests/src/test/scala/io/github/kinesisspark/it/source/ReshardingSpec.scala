package io.github.kinesisspark.it.source

import java.nio.file.{Files, Path}
import java.time.Duration
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import scala.annotation.nowarn
import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suites

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.position.OffsetJson
import io.github.kinesisspark.testkit.{FaultRule, KinesisServerConfig, MovableClock, ServiceClock}
import io.github.kinesisspark.testkit.FaultEffect.ServiceCode
import io.github.kinesisspark.testkit.Occurrence.After

/** Reads streams that are resharded or expire, while the query runs and while it is stopped.
  *
  * The shards are listed every hour only, unless a test says otherwise: whatever is found earlier was reported by the parents.
  */
sealed abstract class ReshardedStreams(clock: MovableClock, override protected val mode: Mode)
    extends TestkitSuite(clock, KinesisServerConfig()) {
  override def suiteName: String = s"${getClass.getSimpleName} by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  /** Not the default, so that no listing finds what the parents must report. */
  protected val rarely = "shardDiscoveryInterval" -> "1h"

  protected def open(stream: TestStream): Seq[String] =
    kinesis.streams.shards(stream.name).filter(_.isOpen).sortBy(_.range.start).map(_.id)

  protected def split(stream: TestStream, i: Int): Unit       = kinesis.streams.split(stream.name, open(stream)(i))
  protected def rescale(stream: TestStream, count: Int): Unit = kinesis.streams.updateShardCount(stream.name, count)
}

/** What differs between polling and fan-out: how a query learns of children, and what one answer can hold. */
final class Resharding(mode: Mode) extends ReshardedStreams(ServiceClock.shifted(), mode) {

  /** Writes records with a few partition keys, each numbered within its key. */
  private final class Writer(stream: TestStream) {
    private val next = Vector.fill(Writer.Keys)(new AtomicInteger)

    def put(count: Int): Unit = (0 until count).foreach { i =>
      val key = i % Writer.Keys
      kinesis.streams.put(stream.name, s"key-$key", s"$key:${next(key).getAndIncrement()}"): Unit
    }

    def all: Seq[String] = next.indices.flatMap(key => (0 until next(key).get).map(n => s"$key:$n"))
  }

  private object Writer {
    val Keys = 20
  }

  private def merge(stream: TestStream, i: Int): Unit =
    kinesis.streams.merge(stream.name, open(stream)(i), open(stream)(i + 1))
  private def somehow(stream: TestStream, random: Random): Unit = {
    val now = open(stream).size
    random.nextInt(4) match {
      case 0 if now <= 4 => rescale(stream, now * 2)
      case 1 if now >= 4 && now % 2 == 0 => rescale(stream, now / 2)
      case 2 if now > 1 => merge(stream, random.nextInt(now - 1))
      case _            => split(stream, random.nextInt(now))
    }
  }

  private def once(log: BatchLog, writer: Writer): Unit = eventually(log.texts.sorted shouldBe writer.all.sorted): Unit

  /** Parents before children, and each partition key in the order of writing. */
  private def inOrder(stream: TestStream, log: BatchLog): Unit = {
    val batches = log.all.flatMap { case (id, rows) => rows.map(_.shardId -> id) }.groupMap(_._1)(_._2)
    for {
      shard  <- kinesis.streams.shards(stream.name)
      parent <- shard.parents
      last   <- batches.get(parent)
      first  <- batches.get(shard.id)
    } last.max should be < first.min
    log.texts.map(_.split(':')).groupMap(_(0))(_(1).toInt).values.foreach(numbers => numbers shouldBe numbers.sorted)
  }

  describe("a query reads each record once, in order per key,") {
    val steps = Seq[(String, TestStream => Unit)](
      "a split"              -> (split(_, 0)),
      "a merge"              -> (merge(_, 0)),
      "a split of a split"   -> (s => { split(s, 0); split(s, 0) }),
      "a merge of a split"   -> (s => { split(s, 1); merge(s, 1) }),
      "a split of a merge"   -> (s => { merge(s, 0); split(s, 0) }),
      "twice as many shards" -> (s => rescale(s, open(s).size * 2)),
      "half as many shards"  -> (s => rescale(s, (open(s).size + 1) / 2)),
      "up and down at once"  -> (s => { rescale(s, open(s).size * 2); rescale(s, open(s).size / 2) })
    )

    it("through splits, merges and chains of both, which it learns from the parents' last answers") {
      val stream = newStream(shards = 2)
      val writer = new Writer(stream)
      val log    = new BatchLog
      writer.put(100)
      running(load(stream, rarely), checkpoint())(log.add) { _ =>
        once(log, writer)
        for ((name, reshard) <- steps) withClue(s"$name: ") {
          reshard(stream)
          writer.put(100)
          once(log, writer)
        }
      }
      inOrder(stream, log)
    }

    it("through 30 random reshards in quick succession") {
      val stream = newStream(shards = 2)
      val writer = new Writer(stream)
      val log    = new BatchLog
      val random = new Random(17)
      running(load(stream, rarely), checkpoint())(log.add) { _ =>
        for (_ <- 0 until 30) {
          somehow(stream, random)
          writer.put(20)
        }
        once(log, writer)
      }
      inOrder(stream, log)
    }

    it("through reshards during downtime, several times") {
      val stream = newStream(shards = 2)
      val writer = new Writer(stream)
      val at     = checkpoint()
      val log    = new BatchLog
      val random = new Random(18)
      for (_ <- 1 to 3) {
        for (_ <- 0 until 5) {
          somehow(stream, random)
          writer.put(20)
        }
        running(load(stream, rarely), at)(log.add)(_ => once(log, writer))
      }
      inOrder(stream, log)
    }

    it("across a reshard without another call of ListShards") {
      val stream = newStream(shards = 1)
      val writer = new Writer(stream)
      val log    = new BatchLog
      writer.put(1)
      running(load(stream, rarely), checkpoint())(log.add) { _ =>
        once(log, writer)
        val listed = kinesis.calls.count("ListShards", stream.name)
        val gaps   = for (i <- 0 until 10) yield {
          if (i % 2 == 0) split(stream, 0) else merge(stream, 0)
          writer.put(1)
          val written = System.nanoTime()
          once(log, writer)
          (System.nanoTime() - written) / 1000000
        }
        info(s"from a record's being written to its batch, across a reshard: ${gaps.sorted.mkString(", ")} ms")
        kinesis.calls.count("ListShards", stream.name) shouldBe listed
      }
      inOrder(stream, log)
    }
  }

  describe("records of extreme sizes") {
    it("are all read: the largest, empty ones, and more than one answer can hold") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val mega   = 1 << 20
      val sizes  = Seq.fill(13)(mega) ++ Seq(0, 1, 0, mega - 1, mega) ++ Seq.fill(20)(0) ++ Seq.fill(3)(mega) ++
        // With their keys of one byte: just what an event holds, and one byte more.
        Seq(mega / 2 - 1, mega / 2 - 1, mega / 2, mega / 2 - 1)
      sizes.foreach(size => kinesis.streams.put(stream.name, "k", Array.fill(size)('x'.toByte)))
      running(load(stream), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe sizes.size)
        kinesis.streams.put(stream.name, "k", Array.emptyByteArray)
        eventually(log.rows.size shouldBe sizes.size + 1)
      }
      log.texts.map(_.length) shouldBe sizes :+ 0
    }
  }
}

/** Which records count as lost where a shard, its records or the stream are gone. The driver decides it, in both ways of reading. */
final class ShardsGone(clock: MovableClock, mode: Mode) extends ReshardedStreams(clock, mode) with CapturedLogs {
  def this(mode: Mode) = this(ServiceClock.shifted(), mode)

  /** Not the default, so that the query learns of the clock's moves, which it does by listing. */
  private val often = "shardDiscoveryInterval" -> "500ms"

  private def raiseRetention(stream: TestStream, hours: Int): Unit =
    stream.service.call(
      _.increaseStreamRetentionPeriod(r => r.streamName(stream.name).retentionPeriodHours(hours))
    ): Unit

  /** What a query has read before it was stopped. */
  private def readAndStop(stream: TestStream, at: Path, log: BatchLog): Seq[String] = {
    val first = put(stream, "first", 20)
    running(load(stream), at)(log.add) { _ =>
      eventually(log.texts.sorted shouldBe first.sorted)
      awaitCommit(at, log)
    }
    first
  }

  describe("shards that pass retention while the query is stopped") {
    it("fail the query by name, or their descendants are read with failOnDataLoss=false") {
      val stream = newStream(shards = 1)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = readAndStop(stream, at, log)
      val parent = stream.onlyShard().shardId
      split(stream, 0)
      put(stream, "lost", 10)
      rescale(stream, 4)
      clock.advance(Duration.ofHours(49))
      eventually(stream.shards() should have size 4)
      val late = put(stream, "late", 40)
      failureOf(start(stream, at)).getMessage should (include("KINESIS_DATA_LOSS") and include(parent))
      running(load(stream, "failOnDataLoss" -> "false"), at)(log.add) { _ =>
        eventually(log.texts.sorted shouldBe (first ++ late).sorted)
      }
    }
  }

  describe("records in open shards that pass retention while the query is stopped") {
    it("fail the query if loss is likely, and are reported once with failOnDataLoss=false") {
      val stream = newStream(shards = 5)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = readAndStop(stream, at, log)
      put(stream, "lost", 20)
      clock.advance(Duration.ofHours(26))
      val late = put(stream, "late", 100)
      clock.advance(Duration.ofMinutes(23 * 60 + 30))
      failureOf(start(stream, at)).getMessage should (include("KINESIS_DATA_LOSS") and include(stream.name) and include(
        "retention of 24 hours"
      ) and include("shardId-000000000000 has one of") and include("and 2 more shards have one"))
      running(load(stream, "failOnDataLoss" -> "false"), at)(log.add) { _ =>
        eventually(log.texts.sorted shouldBe (first ++ late).sorted)
        awaitCommit(at, log)
      }
      val more = put(stream, "more", 20)
      running(load(stream), at)(log.add)(_ => eventually(log.texts.sorted shouldBe (first ++ late ++ more).sorted))
    }

    it("fail the query also where its first batch was not committed, and runs again first") {
      val stream = newStream(shards = 5)
      val at     = checkpoint()
      running(load(stream, "startingPosition" -> "LATEST"), at)(new BatchLog().add) { query =>
        eventually(Files.exists(at.resolve("commits").resolve("0")) shouldBe true)
        query.stop()
      }
      eraseCommit(at, 0)
      put(stream, "lost", 20)
      clock.advance(Duration.ofHours(26))
      put(stream, "late", 100)
      clock.advance(Duration.ofMinutes(23 * 60 + 30))
      failureOf(start(stream, at)).getMessage should (include("KINESIS_DATA_LOSS") and include("retention of 24 hours"))
    }

    it("fail the query also where the retention was raised after they had gone") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      readAndStop(stream, at, log): Unit
      put(stream, "lost", 20)
      clock.advance(Duration.ofHours(26))
      put(stream, "late", 20)
      clock.advance(Duration.ofMinutes(23 * 60 + 30))
      raiseRetention(stream, hours = 168)
      failureOf(start(stream, at)).getMessage should
        (include("KINESIS_DATA_LOSS") and include("retention of 24 hours, which was raised later"))
    }

    it("are none where the retention was raised before, however long the query was stopped after that") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = readAndStop(stream, at, log)
      raiseRetention(stream, hours = 168)
      val second = put(stream, "second", 20)
      clock.advance(Duration.ofHours(48))
      val (_, said) = withLogs {
        running(load(stream), at)(log.add)(_ => eventually(log.texts.sorted shouldBe (first ++ second).sorted))
      }
      said should not include "retention"
    }

    it("are none if the query was stopped for less time, or ran for longer on an idle stream") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = put(stream, "first", 20)
      running(load(stream, often), at)(log.add) { query =>
        eventually(log.texts.sorted shouldBe first.sorted)
        for (_ <- 1 to 2) {
          val completeTo = eventually(complete(query))
          clock.advance(Duration.ofHours(13))
          eventually(complete(query) should be >= completeTo + Duration.ofHours(12).toMillis)
        }
        awaitCommit(at, log)
      }
      log.texts.sorted shouldBe first.sorted
      val second = put(stream, "second", 20)
      clock.advance(Duration.ofHours(20))
      running(load(stream), at)(log.add)(_ => eventually(log.texts.sorted shouldBe (first ++ second).sorted))
    }

    it(
      "cause a warning only, if the oldest remaining record is much younger than retention"
    ) {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = readAndStop(stream, at, log)
      clock.advance(Duration.ofHours(63))
      val late      = put(stream, "late", 20)
      val (_, said) = withLogs {
        running(load(stream), at)(log.add)(_ => eventually(log.texts.sorted shouldBe (first ++ late).sorted))
      }
      said should include regex s"WARN .*${stream.name}: records that arrived between .* if there were any, .* 24 hours"
    }

    def complete(query: StreamingQuery): Long = {
      val progress = query.lastProgress
      progress should not be null
      val times = OffsetJson.read(progress.sources.head.endOffset).streams.values.flatMap(_.completeTo.map(_.millis))
      times should have size 1
      times.head
    }
  }

  describe("a running query that falls behind retention") {
    it("reads the remaining records, and logs the range of time that it may have lost") {
      val stream    = newStream(shards = 1)
      val at        = checkpoint()
      val log       = new BatchLog
      val released  = new CountDownLatch(1)
      val first     = put(stream, "first", 20)
      val (_, said) = withLogs {
        running(load(stream, often), at) { (batch, id) =>
          log.add(batch, id)
          if (log.rows.nonEmpty) released.await()
        } { _ =>
          try {
            eventually(log.texts.sorted shouldBe first.sorted)
            clock.advance(Duration.ofHours(30))
          } finally released.countDown()
          // The query has the service's clock from listing shards. The second listing is sent after the first answer has arrived.
          val listed = kinesis.calls.count("ListShards", stream.name)
          eventually(kinesis.calls.count("ListShards", stream.name) should be >= listed + 2)
          val late = put(stream, "late", 20)
          eventually(log.texts.sorted shouldBe (first ++ late).sorted)
          awaitCommit(at, log)
        }
      }
      said should include regex s"WARN .*${stream.name}/shardId-000000000000: the query is further behind than .* 24 hours"
    }
  }

  describe("a split between the first listing and the first planning of a query that begins at LATEST") {
    for (tolerant <- Seq(false, true))
      it(s"costs nothing, and brings no older record, with failOnDataLoss=${!tolerant}") {
        val stream = newStream(shards = 1)
        val log    = new BatchLog
        put(stream, "old", 20)
        // The first planning lists again, and is refused until the shard is split.
        val refusal = ServiceCode("LimitExceededException")
        val refused = FaultRule(refusal, Some("ListShards"), Some(stream.name), occurrence = After(1))
        val more    = Seq(rarely, "startingPosition" -> "LATEST", "failOnDataLoss" -> (!tolerant).toString)
        val query   = underFault(refused) {
          val query = start(stream, checkpoint(), log, more: _*)
          eventually(kinesis.faults.hits should be > 0L)
          split(stream, 0)
          query
        }
        eventually(query.lastProgress should not be null)
        // A second of the service's clock, by which the query begins.
        clock.advance(Duration.ofSeconds(2))
        val fresh = put(stream, "new", 20)
        eventually((log.rows.size >= 20 || !query.isActive) shouldBe true)
        query.exception shouldBe None
        log.texts.sorted shouldBe fresh.sorted
        query.stop()
      }
  }

  describe("a query with AvailableNow") {
    it("reads the children of a shard that is split while the last batch of the run before runs again") {
      val stream                                                = newStream(shards = 1)
      val at                                                    = checkpoint()
      val log                                                   = new BatchLog
      val before                                                = put(stream, "before", 20)
      var late                                                  = Seq.empty[String]
      def run(write: (DataFrame, Long) => Unit): StreamingQuery =
        start(load(stream, rarely), at, Trigger.AvailableNow())(write)
      failureOf(run((_, _) => throw new IllegalStateException("as planned")))
      val query = run { (batch, id) =>
        if (late.isEmpty) {
          split(stream, 0)
          late = put(stream, "late", 20)
        }
        log.add(batch, id)
      }
      query.awaitTermination(300000) shouldBe true
      log.texts.sorted shouldBe (before ++ late).sorted
    }
  }

  describe("a shard that passes retention while the query runs") {
    val throttled = ServiceCode(
      if (mode == Mode.Polling) "ProvisionedThroughputExceededException" else "LimitExceededException"
    )

    it("unread fails the query by name, or its children are read with failOnDataLoss=false") {
      for (tolerant <- Seq(false, true)) {
        val stream = newStream(shards = 1)
        val parent = stream.onlyShard().shardId
        val log    = new BatchLog
        put(stream, "lost", 20)
        val query = underFault(FaultRule(throttled, Some(mode.readCall), Some(stream.name), Some(parent))) {
          val query = start(stream, checkpoint(), log, rarely, "failOnDataLoss" -> (!tolerant).toString)
          eventually(query.lastProgress should not be null)
          eventually(kinesis.calls.count(mode.readCall, stream.name, parent) should be > 0L)
          split(stream, 0)
          clock.advance(Duration.ofHours(49))
          query
        }
        if (tolerant) {
          val late = put(stream, "late", 20)
          eventually(log.texts.sorted shouldBe late.sorted)
          query.stop()
        } else failureOf(query).getMessage should (include("KINESIS_DATA_LOSS") and include(parent))
      }
    }

    it("before the first batch leaves a query that begins at TRIM_HORIZON with its children") {
      val stream = newStream(shards = 1)
      val parent = stream.onlyShard().shardId
      val log    = new BatchLog
      put(stream, "gone", 20)
      split(stream, 0)
      clock.advance(Duration.ofHours(23))
      val late  = put(stream, "late", 20)
      val query = underFault(FaultRule(throttled, Some(mode.readCall), Some(stream.name), Some(parent))) {
        val query = start(load(stream), checkpoint(), Trigger.AvailableNow())(log.add)
        eventually(kinesis.calls.count(mode.readCall, stream.name, parent) should be > 0L)
        clock.advance(Duration.ofHours(2))
        query
      }
      endsWith(query, log, late)
    }

    for {
      (name, trigger) <- Seq("AvailableNow" -> Trigger.AvailableNow(), "Once" -> once)
      begin           <- Seq("TRIM_HORIZON", "LATEST")
    }
      it(s"while its end is looked up leaves a query with Trigger.$name that begins at $begin with its children") {
        val stream = newStream(shards = 1)
        val parent = stream.onlyShard().shardId
        val log    = new BatchLog
        put(stream, "gone", 20)
        val refusal       = ServiceCode("ProvisionedThroughputExceededException")
        val refused       = FaultRule(refusal, Some("GetShardIterator"), Some(stream.name), Some(parent))
        val (query, late) = underFault(refused) {
          val query = start(load(stream, "startingPosition" -> begin), checkpoint(), trigger)(log.add)
          eventually(kinesis.faults.hits should be > 0L)
          split(stream, 0)
          clock.advance(Duration.ofHours(49))
          (query, put(stream, "late", 20))
        }
        endsWith(query, log, late)
      }

    @nowarn("cat=deprecation") def once: Trigger = Trigger.Once()

    def endsWith(query: StreamingQuery, log: BatchLog, expected: Seq[String]): Unit = {
      query.awaitTermination(300000) shouldBe true
      query.exception shouldBe None
      log.texts.sorted shouldBe expected.sorted: Unit
    }

    it("after its end was planned is not read again, before or after a restart") {
      val stream = newStream(shards = 1)
      val parent = stream.onlyShard().shardId
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = put(stream, "first", 20)
      split(stream, 0)
      val second = put(stream, "second", 20)
      def asked  = Seq("GetShardIterator", "SubscribeToShard").map(kinesis.calls.count(_, stream.name, parent)).sum
      val (expected, askedBefore) = running(load(stream, often), at)(log.add) { _ =>
        eventually(log.texts.sorted shouldBe (first ++ second).sorted)
        val before = asked
        clock.advance(Duration.ofHours(49))
        eventually(stream.shards().map(_.shardId) should not contain parent)
        val all = first ++ second ++ put(stream, "third", 20)
        eventually(log.texts.sorted shouldBe all.sorted)
        awaitCommit(at, log)
        (all, before)
      }
      running(load(stream), at)(log.add) { _ =>
        val all = expected ++ put(stream, "fourth", 20)
        eventually(log.texts.sorted shouldBe all.sorted)
      }
      asked shouldBe askedBefore
    }
  }

  describe("a stream that is idle for hours") {
    it("causes no batches, and new records are read at once") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      val first  = put(stream, "first", 20)
      running(load(stream), checkpoint())(log.add) { query =>
        eventually(log.texts.sorted shouldBe first.sorted)
        val batches = log.all.size
        for (_ <- 1 to 8) {
          val calls = kinesis.calls.count(mode.readCall, stream.name)
          clock.advance(Duration.ofHours(1))
          // Iterators have expired and subscriptions have ended; all shards are read again.
          eventually(kinesis.calls.count(mode.readCall, stream.name) should be >= calls + 2)
        }
        log.all.size shouldBe batches
        val written = System.nanoTime()
        val late    = put(stream, "late", 20)
        eventually(log.texts.sorted shouldBe (first ++ late).sorted)
        val millis = (System.nanoTime() - written) / 1000000
        info(s"read $millis ms after writing")
        // On a machine that has other things to do as well.
        millis should be < 30000L
        query.exception shouldBe None
      }
    }
  }

  describe("a deleted stream") {
    it("fails the running query with its name, also if it had no records and a new stream takes the name at once") {
      for (another <- Seq(false, true); count <- Seq(0, 10)) {
        val stream = newStream(shards = 1)
        val log    = new BatchLog
        val query  = start(stream, checkpoint(), log)
        put(stream, "x", count)
        eventually(kinesis.calls.count(mode.readCall, stream.name) should be >= 1L)
        eventually(log.rows.size shouldBe count)
        kinesis.streams.deleteStream(stream.name)
        if (another) {
          clock.advance(Duration.ofSeconds(5))
          kinesis.streams.createStream(stream.name, 1)
          kinesis.streams.put(stream.name, "key", "of another stream")
        }
        failureOf(query).getMessage should include(stream.name)
        log.texts should not contain "of another stream"
      }
    }

    it("fails the running query as what it is also where the new stream has none of its shards") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      put(stream, "past", 10)
      split(stream, 0)
      clock.advance(Duration.ofHours(49))
      eventually(stream.shards() should have size 2)
      val released = new CountDownLatch(1)
      put(stream, "x", 10): Unit
      val query = start(load(stream, often), checkpoint(), Trigger.ProcessingTime(0)) { (batch, id) =>
        log.add(batch, id)
        if (log.rows.nonEmpty) released.await()
      }
      try {
        eventually(log.rows.size shouldBe 10)
        kinesis.streams.deleteStream(stream.name)
        clock.advance(Duration.ofSeconds(5))
        kinesis.streams.createStream(stream.name, 1)
        kinesis.streams.put(stream.name, "key", "of another stream")
      } finally released.countDown()
      failureOf(query).getMessage should (include(stream.name) and include("was deleted and created again"))
      log.texts should not contain "of another stream"
    }

    it("fails the restarted query with its name, also if a new stream has it, which is not read") {
      for (another <- Seq(false, true)) {
        val stream = newStream(shards = 1)
        val at     = checkpoint()
        val log    = new BatchLog
        put(stream, "x", 10)
        running(load(stream), at)(log.add) { _ =>
          eventually(log.rows.size shouldBe 10)
          awaitCommit(at, log)
        }
        kinesis.streams.deleteStream(stream.name)
        if (another) {
          clock.advance(Duration.ofSeconds(5))
          kinesis.streams.createStream(stream.name, 1)
          kinesis.streams.put(stream.name, "key", "of another stream")
        }
        val why = if (another) "was deleted and created again" else "KINESIS_NOT_FOUND"
        failureOf(start(stream, at, log)).getMessage should (include(stream.name) and include(why))
        log.rows.size shouldBe 10
      }
    }
  }
}

class ReshardingSpec
    extends Suites(Mode.both.map(new Resharding(_)) ++ Passes.modes(Mode.FanOut)(new ShardsGone(_)): _*)
