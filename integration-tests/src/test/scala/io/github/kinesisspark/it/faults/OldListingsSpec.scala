package io.github.kinesisspark.it.faults

import scala.concurrent.duration.DurationInt

import io.github.kinesisspark.it.source.BatchLog
import io.github.kinesisspark.testkit.{ControlPlane, KinesisServerConfig}

/** Listings show a stream as it was a minute ago. */
final class OldListingsSpec
    extends AwkwardSuite(
      KinesisServerConfig.realistic.copy(control = ControlPlane.realistic.copy(listingLag = 1.minute))
    ) {
  describe("a listing that is older than the checkpoint") {
    for (tolerant <- Seq(false, true))
      byEach(s"loses no shard and brings none again, with failOnDataLoss=${!tolerant}") { mode =>
        val source = newStream(shards = 1)
        val parent = source.onlyShard().shardId
        val at     = checkpoint()
        val log    = new BatchLog
        val query  = stream(source, mode, "failOnDataLoss" -> (!tolerant).toString)
        val before = put(source, "before", 40)
        running(query, at)(log.add) { _ =>
          eventually(log.rows.size shouldBe before.size)
          kinesis.streams.split(source.name, parent)
          eventually(kinesis.streams.shards(source.name) should have size 3)
          val split = put(source, "split", 40)
          eventually(log.rows.size shouldBe before.size + split.size)
          awaitCommit(at, log)
        }
        withClue("a listing that did not lag, so nothing was tested: ")(
          source.shards().map(_.shardId) shouldBe Seq(parent)
        )
        running(query, at)(log.add) { again =>
          val after = put(source, "after", 40)
          eventually((log.rows.size >= 120 || !again.isActive) shouldBe true)
          again.exception shouldBe None
          log.texts.toSet should contain allElementsOf after
        }
        log.texts should have size 120
      }
  }
}
