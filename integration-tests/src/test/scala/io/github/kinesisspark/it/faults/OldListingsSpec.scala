package io.github.kinesisspark.it.faults

import java.time.Duration

import scala.concurrent.duration.DurationInt

import software.amazon.awssdk.core.SdkBytes

import io.github.kinesisspark.aggregation.{AggregatedRecord, UserRecord}
import io.github.kinesisspark.it.source.BatchLog
import io.github.kinesisspark.testkit.{ControlPlane, KinesisServerConfig}

/** Listings show a stream as it was a minute ago. */
final class OldListingsSpec
    extends AwkwardSuite(
      KinesisServerConfig.realistic.copy(control = ControlPlane.realistic.copy(listingLag = 1.minute))
    ) {
  describe("a listing that is older than the checkpoint") {
    for (tolerant <- Seq(false, true))
      byEach(
        s"loses no shard, brings none again, and leaves user records of other shards out, with failOnDataLoss=${!tolerant}"
      ) { mode =>
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
        // A producer that didn't know of the split. The KPL puts the sibling's again.
        val keys  = kinesis.streams.shards(source.name).filter(_.isOpen).map(_.range.start).sorted
        val own   = UserRecord("own".getBytes, "key", Some(keys.head))
        val other = UserRecord("other".getBytes, "key", Some(keys.last))
        val both  = Seq(own, other).foldLeft(new AggregatedRecord[UserRecord])(_.add(_)).payload
        service.call(
          _.putRecord(r =>
            r.streamName(source.name)
              .partitionKey("a")
              .explicitHashKey(own.hashKey.toString)
              .data(SdkBytes.fromByteArray(both))
          )
        ): Unit
        val listings = kinesis.calls.count("ListShards")
        running(query, at)(log.add) { again =>
          val after = put(source, "after", 40)
          eventually(kinesis.calls.count("ListShards") should be > listings + 3)
          serverClock.advance(Duration.ofMinutes(1))
          eventually((log.rows.size >= 121 || !again.isActive) shouldBe true)
          again.exception shouldBe None
          log.texts.toSet should contain allElementsOf after :+ "own"
        }
        log.texts should have size 121
      }
  }
}
