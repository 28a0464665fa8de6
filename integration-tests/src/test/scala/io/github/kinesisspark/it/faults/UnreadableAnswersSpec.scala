package io.github.kinesisspark.it.faults

import java.nio.file.Path

import org.scalatest.Suites
import org.scalatest.tags.Slow
import software.amazon.awssdk.services.kinesis.model.Shard

import io.github.kinesisspark.StreamPositions
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.position.OffsetJson
import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.testkit.FaultRule

/** Each answer for a shard is damaged, however often it is asked for. `maxRetryDuration` is 15 s instead of 15 minutes, because a test
  * can't wait for those.
  */
@Slow
final class UnreadableAnswers(override protected val mode: Mode) extends TestkitSuite {
  override def suiteName: String = s"Unreadable answers by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private val damage = if (mode == Mode.Polling) GarbageBody else CorruptFrame

  describe("a query that can't read a shard past a position") {
    it("counts the failed calls, fails with shard and position, and loses nothing once the answers are sound again") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val at     = checkpoint()
      val first  = put(stream, "first", 20)
      val error  = untilFailed(stream, log, at, first.size)
      error should include(stream.onlyShard().shardId)
      error should include(s"(position ${log.rows.last.sequenceNumber})")
      error should include regex "KINESIS_(ANSWER_DAMAGED|CONNECTION_LOST)"
      running(load(stream), at)(log.add)(_ =>
        eventually(log.texts.sorted shouldBe (first :+ unread(stream.onlyShard())).sorted)
      )
    }

    it("is continued by a new query whose start names a later time for that shard, and loses nothing in the others") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      val at     = checkpoint()
      val first  = put(stream, "first", 20)
      val error  = untilFailed(stream, log, at, first.size)
      serverClock.advance(java.time.Duration.ofSeconds(10))
      val later                = serverClock.millis
      val after                = put(stream, "after", 20)
      val start                = ujson.read(OffsetJson.write(StreamPositions.afterBatch(spark, at.toString)))
      val (unreadable, others) = stream.openShards().partition(shard => error.contains(shard.shardId))
      (unreadable.size, others.size) shouldBe ((1, 1))
      start("streams").obj.values.foreach(_("shards")(unreadable.head.shardId) = s"AT_TIMESTAMP:$later")
      val next = new BatchLog
      running(load(stream, "startingPosition" -> ujson.write(start)), checkpoint())(next.add) { _ =>
        eventually(next.texts.sorted shouldBe (after ++ others.map(unread)).sorted)
      }
    }
  }

  /** The text of a shard's record that comes in a damaged answer. */
  private def unread(shard: Shard) = s"unread-${shard.shardId}"

  /** @return the error of a query that has read `count` records and then meets damage in each shard */
  private def untilFailed(stream: TestStream, log: BatchLog, at: Path, count: Int): String = {
    val query = start(stream, at, log, "maxRetryDuration" -> "15s")
    eventually(log.rows.size shouldBe count)
    underFault(FaultRule(damage, Some(mode.readCall), Some(stream.name))) {
      stream.openShards().foreach(shard => stream.putAt(TestStream.startingHash(shard), unread(shard)))
      eventually(query.lastProgress.sources.head.metrics.get(failedCalls).toLong should be > 0L)
      failureOf(query).getMessage
    }
  }

  private val failedCalls = if (mode == Mode.Polling) "callsFailed" else "subscriptionsFailed"
}

class UnreadableAnswersSpec extends Suites(Mode.both.map(new UnreadableAnswers(_)): _*)
