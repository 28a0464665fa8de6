package io.github.kinesisspark.it.conformance

import java.time.{Duration, Instant}

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.{EncryptionType, GetRecordsResponse, PutRecordsRequestEntry}

import io.github.kinesisspark.it.{Differences, TestStream}
import io.github.kinesisspark.it.TestStream._

/** GetRecords: fields and limits of an answer, and its lag. */
trait GetRecordsScenarios { this: Conformance =>

  /** Two records, some time ago, of which a reader has the first. */
  private def withLaggard(body: (TestStream, GetRecordsResponse) => Any): Unit = withStream(1) { stream =>
    stream.put("first")
    stream.put("second")
    val putAt = Instant.now
    eventually(Instant.now.isAfter(putAt.plusMillis(300)) shouldBe true)
    val behind = stream.get(stream.trimHorizon(stream.onlyShard().shardId), 1)
    texts(behind) shouldBe Seq("first")
    body(stream, behind)
    ()
  }

  protected def getRecordsScenarios(): Unit = describe("GetRecords") {
    promise("returns each record as it was put") {
      withStream(1) { stream =>
        val data     = Array.tabulate[Byte](256)(_.toByte)
        val put      = stream.putBytes(data, "ключ")
        val Seq(got) = stream.get(stream.trimHorizon(put.shardId)).records.asScala.toSeq: @unchecked
        got.data.asByteArray shouldBe data
        got.partitionKey shouldBe "ключ"
        got.sequenceNumber shouldBe put.sequenceNumber
        got.encryptionType should (be(EncryptionType.NONE) or be(null))
        Duration.between(got.approximateArrivalTimestamp, Instant.now).abs should be < Duration.ofMinutes(1)
      }
    }

    promise("returns at most the limit, and the rest in order through the next iterators") {
      withStream(1) { stream =>
        val sent = (1 to 10).map(n => s"$n")
        sent.foreach(stream.put(_))
        val shard  = stream.onlyShard().shardId
        val first  = stream.get(stream.trimHorizon(shard), 4)
        val second = stream.get(first.nextShardIterator, 4)
        val third  = stream.get(second.nextShardIterator, 4)
        Seq(first, second, third).map(texts) shouldBe Seq(sent.slice(0, 4), sent.slice(4, 8), sent.slice(8, 10))
      }
    }

    promise("refuses a limit of 0 or above 10,000") {
      withStream(1) { stream =>
        val iterator = stream.trimHorizon(stream.onlyShard().shardId)
        refusedArgument(service.callOnce(_.getRecords(r => r.shardIterator(iterator).limit(0))))
        refusedArgument(service.callOnce(_.getRecords(r => r.shardIterator(iterator).limit(10001))))
      }
    }

    promise("returns at most 10 MiB") {
      withStream(1) { stream =>
        val MiB   = 1024 * 1024
        val sizes = (1 to 11).map { _ =>
          stream.putBytes(new Array[Byte](MiB - 10))
          MiB - 10
        }
        val answers = stream.drain(stream.trimHorizon(stream.onlyShard().shardId))
        answers.foreach(_.records.asScala.map(_.data.asByteArrayUnsafe.length).sum should be <= 10 * MiB)
        answers.flatMap(_.records.asScala).map(_.data.asByteArrayUnsafe.length) shouldBe sizes
      }
    }

    promise("returns no records, a lag of 0 ms and an iterator for an empty shard") {
      withStream(1) { stream =>
        val answer = stream.get(stream.trimHorizon(stream.onlyShard().shardId))
        answer.records shouldBe empty
        answer.millisBehindLatest.longValue shouldBe 0
        stream.put("late")
        eventually(texts(stream.get(answer.nextShardIterator)) shouldBe Seq("late"))
      }
    }

    promise(
      "returns the lag behind the present, and 0 at the latest record",
      Differences.LagIsToTheLastRecord.instead(withLaggard { (stream, behind) =>
        val last = stream.drain(stream.trimHorizon(stream.onlyShard().shardId)).flatMap(_.records.asScala).last
        behind.millisBehindLatest.longValue shouldBe Duration
          .between(behind.records.get(0).approximateArrivalTimestamp, last.approximateArrivalTimestamp)
          .toMillis
      })
    ) {
      withLaggard { (stream, behind) =>
        behind.millisBehindLatest.longValue should (be >= 200L and be < 60000L)
        val tip = stream.get(behind.nextShardIterator)
        texts(tip) shouldBe Seq("second")
        tip.millisBehindLatest.longValue shouldBe 0
      }
    }

    promise("returns at most 10,000 records without a limit") {
      withStream(1) { stream =>
        val batch =
          Seq.fill(500)(PutRecordsRequestEntry.builder().partitionKey("k").data(SdkBytes.fromUtf8String("x")).build())
        def put(left: Int): Unit = if (left > 0) {
          val failed = service
            .call(_.putRecords(r => r.streamName(stream.name).records(batch.take(left).asJava)))
            .failedRecordCount
          put(left - batch.take(left).size + failed)
        }
        put(10001)
        val answers = stream.drain(stream.trimHorizon(stream.onlyShard().shardId))
        answers.map(_.records.size).max should be <= 10000
        answers.map(_.records.size).sum shouldBe 10001
      }
    }

    promise("returns a record once to a reader that continues", Differences.RepeatsTheFirstRecord.sometimes) {
      withStream(1) { stream =>
        stream.put("once")
        val answers = Iterator
          .iterate(stream.get(stream.trimHorizon(stream.onlyShard().shardId)))(a => stream.get(a.nextShardIterator))
          .take(4)
          .toSeq
        answers.map(texts) shouldBe Seq(Seq("once"), Seq.empty, Seq.empty, Seq.empty)
      }
    }

    promise(
      "refuses a malformed iterator",
      Differences.CrashesOnBadText.instead(crash(service.callOnce(_.getRecords(r => r.shardIterator("garbage")))))
    ) {
      refusedArgument(service.callOnce(_.getRecords(r => r.shardIterator("garbage"))))
      refusedArgument(service.callOnce(_.getRecords(r => r.shardIterator("AAAA" * 40))))
    }

    promise("reads each shard of a stream separately") {
      withStream(2) { stream =>
        stream.openShards().foreach(shard => stream.putAt(startingHash(shard), shard.shardId))
        stream.openShards().foreach { shard =>
          stream.texts(stream.trimHorizon(shard.shardId)) shouldBe Seq(shard.shardId)
        }
      }
    }
  }

}
