package io.github.kinesisspark.it.faults

import java.time.Instant
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration._

import org.apache.spark.sql.DataFrame
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.source.{BatchLog, TestkitSuite}
import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.testkit.{FaultRule, FutureTimestamps, KinesisServerConfig}

/** Promises of the documentation that the present readers break in corners. */
final class ReaderPromisesSpec extends TestkitSuite(KinesisServerConfig(futureTimestamps = FutureTimestamps.Refuse)) {
  import ReaderPromisesSpec._

  describe("two sources of one query") {
    it("hold no more than one readerBufferSize together in an executor") {
      // The smallest instead of the default, so that two of them fit this JVM easily.
      val buffer  = 16L << 20
      val streams = Seq.fill(2)(newStream(shards = 1))
      val data    = Array.fill(1000000)('x'.toByte)
      for (stream <- streams; n <- 1 to 60) kinesis.streams.put(stream.name, n.toString, data)
      val one  = streams.map(load(_, "readerBufferSize" -> "16m").selectExpr("length(data)"))
      val most = new AtomicInteger
      running(one.head.union(one.last), checkpoint()) { (batch: DataFrame, _: Long) =>
        most.addAndGet(batch.count().toInt): Unit
      } { query =>
        eventually(most.get shouldBe 120)
        val buffered = query.recentProgress.toSeq.map(_.sources.toSeq.map(_.metrics.get("bufferedBytes").toLong).sum)
        withClue(s"bufferedBytes of both, batch by batch: $buffered; ")(buffered.max should be <= buffer + SlackBytes)
      }
    }
  }

  describe("minRecordsPerTrigger") {
    it("holds small batches back although calls under way have reserved the buffer") {
      // Half of the buffer is reserved for each call; with the default, that takes 25 shards.
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      val limits =
        Seq(
          "readerBufferSize"     -> "16m",
          "minRecordsPerTrigger" -> "1000",
          "maxTriggerDelay"      -> "10m",
          "startingPosition"     -> "TRIM_HORIZON"
        )
      underFault(FaultRule(Delay(1.second), Some("GetRecords"), Some(stream.name))) {
        running(load(stream, limits: _*), checkpoint())(log.add) { query =>
          eventually(query.lastProgress should not be null)
          val few = put(stream, "few", 10)
          // All of them are read, and some calls have been under way since.
          eventually(timeout(Span(60, Seconds)))(
            kinesis.calls.recent.filter(_.stream.contains(stream.name)).map(_.records).sum shouldBe few.size
          )
          val asked = kinesis.calls.count("GetRecords", stream.name)
          eventually(kinesis.calls.count("GetRecords", stream.name) should be >= asked + 6)
          log.rows.size shouldBe 0
          val many = put(stream, "many", 1000)
          eventually(log.texts.sorted shouldBe (few ++ many).sorted)
        }
      }
    }
  }

  describe("a time within the service's present second, by a clock that is ahead") {
    it("is waited for, as start of a streaming query and as end of a batch read") {
      val stream = newStream(shards = 1)
      val few    = put(stream, "few", 10)
      def soon() = {
        eventually(serverClock.millis % 1000 should be < 100L)
        Instant.ofEpochMilli(serverClock.millis / 1000 * 1000 + 900)
      }
      texts(backfill(stream, "endingPosition" -> s"AT_TIMESTAMP:${soon()}")).sorted shouldBe few.sorted
      val log   = new BatchLog
      val begin = soon()
      running(load(stream, "startingPosition" -> s"AT_TIMESTAMP:$begin"), checkpoint())(log.add) { _ =>
        eventually(serverClock.millis should be > begin.toEpochMilli)
        val late = put(stream, "late", 10)
        eventually(log.texts.sorted shouldBe late.sorted)
      }
    }
  }

  describe("a streaming query that starts AT_TIMESTAMP in the future") {
    it("is refused at its start with an error that names option and time, as a batch read is") {
      val stream  = newStream(shards = 1)
      val future  = Instant.ofEpochMilli(serverClock.millis).plusSeconds(3600)
      val start   = "startingPosition" -> s"AT_TIMESTAMP:$future"
      val batch   = intercept[Exception](backfill(stream, start).count())
      val failure = failureOf(this.start(stream, checkpoint(), new BatchLog, start))
      for (refused <- Seq(batch, failure))
        refused.getMessage should (include("startingPosition") and include(future.toString) and include(stream.name))
    }
  }
}

object ReaderPromisesSpec {

  /** A record that overdraws the budget by its overhead. */
  private val SlackBytes = 1L << 20
}
