package io.github.kinesisspark.it.source

import scala.util.Random

/** Alternates polling and fan-out on one checkpoint: each continues where the other stopped. */
final class SwitchingSpec extends TestkitSuite {

  describe("a checkpoint") {
    it("serves polling and fan-out in turn across reshards, without loss or duplicates") {
      val stream   = newStream(shards = 2)
      val at       = checkpoint()
      val log      = new BatchLog
      val random   = new Random(4)
      val expected = Vector.newBuilder[String]
      for (round <- 1 to 6) {
        val mode = if (round % 2 == 0) Mode.FanOut else Mode.Polling
        expected ++= put(stream, s"down-$round", 100)
        // A reshard while the query is down, one while it runs.
        reshard(stream.name, random)
        running(load(stream, mode.options.toSeq: _*), at)(log.add) { _ =>
          expected ++= put(stream, s"up-$round", 100)
          reshard(stream.name, random)
          expected ++= put(stream, s"late-$round", 100)
          eventually(log.rows.size shouldBe expected.result().size)
        }
      }
      log.texts.sorted shouldBe expected.result().sorted
      parentsComeFirst(stream, log.rows.map(_.shardId))
    }

    it("of either mode is replayed by the other with the same rows") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      put(stream, "first", 200)
      running(load(stream, Mode.FanOut.options.toSeq: _*), at)(log.add)(_ => eventually(log.rows.size shouldBe 200))
      for (mode <- Seq(Mode.Polling, Mode.FanOut)) {
        eraseCommit(at, log.all.filter(_._2.nonEmpty).last._1)
        val replays = log.replays.size
        put(stream, s"more-$mode", 50)
        // The log refuses a batch that comes again with other rows.
        running(load(stream, mode.options.toSeq: _*), at)(log.add) { _ =>
          eventually(log.texts.count(_.startsWith(s"more-$mode")) shouldBe 50)
        }
        log.replays.size should be > replays
      }
    }
  }

  private def reshard(stream: String, random: Random): Unit = {
    val open = kinesis.streams.shards(stream).filter(_.isOpen).sortBy(_.range.start)
    if (open.size < 4) kinesis.streams.split(stream, open(random.nextInt(open.size)).id)
    else {
      val i = random.nextInt(open.size - 1)
      kinesis.streams.merge(stream, open(i).id, open(i + 1).id)
    }
  }
}
