package io.github.kinesisspark.it.source

import java.time.{Duration, Instant}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.testkit.ManualClock

/** Positions at exactly the time of a reshard, when ListShards has the parents beside their children. The server's clock stands still. */
final class ReshardTimeSpec extends TestkitSuite(ManualClock()) {

  private def pass(): Unit = serverClock.advance(Duration.ofSeconds(5))

  /** A stream with records before, at and after the time of a split, and that time. */
  private def splitStream(): (TestStream, Instant) = {
    val stream = newStream(shards = 1)
    pass()
    put(stream, "before", 10)
    pass()
    put(stream, "parent", 10)
    stream.split(stream.onlyShard())
    val time = serverClock.instant
    put(stream, "child", 10)
    pass()
    put(stream, "after", 10)
    pass()
    (stream, time)
  }

  private def named(prefixes: String*): Seq[String] = prefixes.flatMap(p => (0 until 10).map(i => s"$p-$i")).sorted

  it(
    "a query that begins at the time of a split reads from it each record once, and those of the parent in earlier batches"
  ) {
    val (stream, time) = splitStream()
    val log            = new BatchLog
    running(load(stream, "startingPosition" -> s"AT_TIMESTAMP:$time"), checkpoint())(log.add) { _ =>
      eventually(log.rows.size should be >= 30)
      put(stream, "last", 10)
      eventually(log.texts.sorted shouldBe named("parent", "child", "after", "last"))
    }
    inOrder(log)
    // Rows of a batch have no order, so that it may have those of the parent or of the children.
    parentsComeFirst(stream, log.all.flatMap(_._2.map(_.shardId).sorted.reverse))
  }

  it("batches that end and begin at the time of a split read each record once together") {
    val (stream, time) = splitStream()
    texts(backfill(stream, "endingPosition" -> s"AT_TIMESTAMP:$time")).sorted shouldBe named("before")
    texts(backfill(stream, "startingPosition" -> s"AT_TIMESTAMP:$time")).sorted shouldBe
      named("parent", "child", "after")
  }
}
