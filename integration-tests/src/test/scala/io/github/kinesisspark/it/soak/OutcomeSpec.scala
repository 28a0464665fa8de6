package io.github.kinesisspark.it.soak

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.testkit.LiveSubscription

import scala.concurrent.duration._

/** What the soak's verdict rests on, given wrong outcomes. */
final class OutcomeSpec extends AnyFunSpec with Matchers {
  private val calm = Threads(Map("aws-java-sdk-NettyEventLoop-#" -> 2), all = 100)

  private val good = Outcome(
    ledger = Ledger.empty.take(Entry(1, 1)).take(Entry(1, 2)),
    written = Map(1 -> 2L),
    batches = 1,
    replays = 0,
    failures = Vector.empty,
    struck = Map("silence" -> 3),
    deeds = Map.empty,
    restarts = 1,
    subscriptions = Map.empty,
    longestSilence = 5.seconds,
    together = 100.millis,
    leftOver = Vector.empty,
    warm = calm,
    end = calm,
    heap = Heap(Vector.fill(8)(100L << 20)),
    heapSlack = 16L << 20
  )

  it("is fine where nothing is wrong") {
    good.complaints shouldBe empty
  }

  for (
    (what, bad) <- Seq(
      "a lost record"                  -> good.copy(written = Map(1 -> 3L)),
      "a doubled record"               -> good.copy(ledger = good.ledger.take(Entry(1, 2))),
      "a batch that changed"           -> good.copy(ledger = good.ledger.note(Wrong.Changed(1))),
      "a query that failed"            -> good.copy(failures = Vector("why")),
      "trouble that never struck"      -> good.copy(struck = good.struck + ("reset" -> 0)),
      "two subscriptions of a shard"   -> good.copy(together = Outcome.Overlap + 1.second),
      "a subscription that lives on"   -> good.copy(leftOver = Vector("shard 1")),
      "a client that was never closed" -> good.copy(end = calm.copy(pools = Map("aws-java-sdk-NettyEventLoop-#" -> 3))),
      "threads"                        -> good.copy(end = calm.copy(all = 130)),
      "a heap that grows"              -> good.copy(heap = Heap(Vector.tabulate(8)(i => (100L + 10 * i) << 20))),
      "a heap that was not looked at"  -> good.copy(heap = Heap(Vector.empty))
    )
  ) it(s"is not fine with $what")(bad.complaints should have size 1)

  it("compares the heap's low points, for what is buffered comes and goes") {
    Heap(Vector(9, 9, 5, 8, 8, 9, 5, 9).map(_ * 100L)).isFlat(0) shouldBe true
    Heap(Vector(1, 1, 5, 8, 8, 9, 7, 9).map(_ * 100L)).isFlat(0) shouldBe false
  }

  it("tells pools of threads from the threads in them") {
    val one =
      Vector("aws-java-sdk-NettyEventLoop-0-0", "aws-java-sdk-NettyEventLoop-0-1", "kinesis-shard-readers-1", "main")
    Threads
      .of(one)
      .grown(Threads.of(one :+ "aws-java-sdk-NettyEventLoop-0-2" :+ "kinesis-shard-readers-2")) shouldBe empty
    Threads.of(one).grown(Threads.of(one :+ "aws-java-sdk-NettyEventLoop-1-0")) should have size 1
    Threads.of(one :+ "block-manager-ask-thread-pool-1" :+ "kinesis-testkit-7").all shouldBe 4
  }

  it("watches for how long two subscriptions of one shard live together") {
    def sub(arn: String, shard: String, since: Long, events: Long) = LiveSubscription(arn, "s", shard, since, events, 0)
    val apart = Watch.start.see(Seq(sub("a", "1", 10, 0), sub("a", "2", 10, 0)), 1000)
    apart.longest shouldBe Duration.Zero
    val met = apart.see(Seq(sub("a", "1", 10, 1), sub("b", "1", 1500, 0)), 2000)
    met.longest shouldBe Duration.Zero
    val still = met.see(Seq(sub("a", "1", 10, 2), sub("b", "1", 1500, 1)), 2600)
    still.longest shouldBe 600.millis
    // The second has gone, and a third has come: a short meeting again.
    still.see(Seq(sub("a", "1", 10, 2), sub("b", "1", 2700, 0)), 2800).longest shouldBe 600.millis
  }
}
