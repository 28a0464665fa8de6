package io.github.kinesisspark.it.conformance

import java.math.BigInteger

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, TestStream}
import io.github.kinesisspark.it.TestStream._

/** PutRecord and PutRecords: shard and sequence number of a record, and the limits of a call. */
trait PutScenarios { this: Conformance =>
  private val MiB = 1024 * 1024

  private def big(size: Int): SdkBytes = SdkBytes.fromByteArray(new Array[Byte](size))

  private val tooLarge = PutRecordsRequestEntry.builder().partitionKey("key").data(big(MiB + 1)).build()

  private def shardById(stream: TestStream): Map[String, Shard] = stream.shards().map(s => s.shardId -> s).toMap

  private def putAll(stream: TestStream, entries: Seq[PutRecordsRequestEntry]): PutRecordsResponse =
    stream.service.callOnce(_.putRecords(r => r.streamName(stream.name).records(entries.asJava)))

  private def putOne(stream: TestStream)(record: PutRecordRequest.Builder => Any): PutRecordResponse =
    service.callOnce(_.putRecord { r => record(r.streamName(stream.name).partitionKey("key").data(bytes("x"))); () })

  /** Nearly 1 MiB into each of so many shards, which is what a shard takes at once. */
  private def oneLargeRecordEach(stream: TestStream, shards: Int): Seq[PutRecordsRequestEntry] =
    stream.openShards().take(shards).map { shard =>
      PutRecordsRequestEntry
        .builder()
        .partitionKey("key")
        .explicitHashKey(startingHash(shard).toString)
        .data(big(MiB - 1000))
        .build()
    }

  private def grow(sequenceNumbers: Iterable[String]): Unit = {
    val numbers = sequenceNumbers.toSeq.map(new BigInteger(_))
    numbers.zip(numbers.tail).foreach { case (earlier, later) => later should be > earlier }
  }

  protected def putScenarios(): Unit = {
    describe("PutRecord") {
      promise("routes a record by the MD5 of its partition key") {
        withStream(4) { stream =>
          val shards = shardById(stream)
          val keys   = (1 to 30).map(n => s"key-$n") ++ Seq("ключ", "鍵", "a" * 256)
          val used   = keys.map { key =>
            val shard = stream.put("x", key).shardId
            withClue(key)(covers(shards(shard), hashOf(key)) shouldBe true)
            shard
          }
          used.distinct should have size 4
        }
      }

      promise("routes a record by its explicit hash key, regardless of the partition key") {
        withStream(3) { stream =>
          stream.openShards().foreach { shard =>
            stream.putAt(startingHash(shard), "first").shardId shouldBe shard.shardId
            stream.putAt(endingHash(shard), "last").shardId shouldBe shard.shardId
          }
        }
      }

      promise("refuses an explicit hash key that is negative or exceeds 128 bits") {
        withStream(1) { stream =>
          Seq(MaxHashKey.add(BigInteger.ONE).toString, "-1").foreach { key =>
            withClue(key)(refusedArgument(putOne(stream)(_.explicitHashKey(key))))
          }
        }
      }

      promise(
        "refuses an explicit hash key that is not a number",
        Differences.CrashesOnBadText.instead(
          withStream(1)(stream => crash(putOne(stream)(_.explicitHashKey("abc"))))
        )
      ) {
        withStream(1)(stream => refusedArgument(putOne(stream)(_.explicitHashKey("abc"))))
      }

      promise("returns growing sequence numbers of 56 digits", Differences.SameNumberTwice.sometimes) {
        withStream(1) { stream =>
          val numbers = (1 to 50).map(n => stream.put(s"$n").sequenceNumber)
          numbers.foreach(_ should fullyMatch regex "49[0-9]{54}")
          grow(stream.onlyShard().sequenceNumberRange.startingSequenceNumber +: numbers)
        }
      }

      promise("accepts SequenceNumberForOrdering") {
        withStream(1) { stream =>
          val first = stream.put("first").sequenceNumber
          grow(Seq(first, putOne(stream)(_.sequenceNumberForOrdering(first)).sequenceNumber))
        }
      }

      promise("accepts a record with empty data") {
        withStream(1) { stream =>
          stream.putBytes(Array.emptyByteArray)
          stream.texts(stream.trimHorizon(stream.onlyShard().shardId)) shouldBe Seq("")
        }
      }

      promise("refuses a partition key that is empty or longer than 256 characters") {
        withStream(1) { stream =>
          refusedArgument(putOne(stream)(_.partitionKey("")))
          refusedArgument(putOne(stream)(_.partitionKey("k" * 257)))
        }
      }

      promise("accepts a record of 1 MiB with its key, and refuses a larger one") {
        withStream(1) { stream =>
          putOne(stream)(_.data(big(MiB - 3))).sequenceNumber should not be empty
          refusedArgument(putOne(stream)(_.data(big(MiB + 1))))
        }
      }
    }

    describe("PutRecords") {
      promise("answers for each record in the request's order") {
        withStream(4) { stream =>
          val shards  = shardById(stream)
          val keys    = (1 to 100).map(n => s"key-$n")
          val answers = putAll(stream, keys.map(entry("x", _)))
          answers.failedRecordCount.intValue shouldBe 0
          answers.records should have size 100
          keys.zip(answers.records.asScala).foreach { case (key, answer) =>
            covers(shards(answer.shardId), hashOf(key)) shouldBe true
            answer.errorCode shouldBe null
          }
        }
      }

      promise("stores each record under the sequence number of its answer, in any order") {
        withStream(2) { stream =>
          val answers = putAll(stream, (1 to 100).map(n => entry(s"$n", s"key-$n"))).records.asScala.toSeq
          val read    = stream
            .openShards()
            .flatMap(s => stream.drain(stream.trimHorizon(s.shardId)))
            .flatMap(_.records.asScala)
          read.map(r => r.sequenceNumber -> r.data.asUtf8String).toMap shouldBe
            answers.map(_.sequenceNumber).zip((1 to 100).map(n => s"$n")).toMap
          read should have size 100
        }
      }

      promise("accepts an explicit hash key per record") {
        withStream(3) { stream =>
          val shards  = stream.openShards()
          val entries = shards.map { shard =>
            PutRecordsRequestEntry
              .builder()
              .partitionKey("key")
              .explicitHashKey(endingHash(shard).toString)
              .data(bytes("x"))
              .build()
          }
          putAll(stream, entries).records.asScala.map(_.shardId) shouldBe shards.map(_.shardId)
        }
      }

      promise(
        "accepts 500 records, and refuses more",
        Differences.NoRecordCountLimit.instead(
          withStream(1)(stream =>
            putAll(stream, Seq.fill(501)(entry("x", "key"))).failedRecordCount.intValue shouldBe 0
          )
        )
      ) {
        withStream(1) { stream =>
          putAll(stream, Seq.fill(500)(entry("x", "key"))).records should have size 500
          refusedArgument(putAll(stream, Seq.fill(501)(entry("x", "key"))))
        }
      }

      promise(
        "refuses a request without records",
        Differences.NoRecordCountLimit.instead(
          withStream(1)(stream => putAll(stream, Seq.empty).records shouldBe empty)
        )
      ) {
        withStream(1)(stream => refusedArgument(putAll(stream, Seq.empty)))
      }

      promise(
        "refuses the whole request if one record is too large",
        Differences.LargeRecordFailsAlone.instead(
          withStream(1) { stream =>
            val answers = putAll(stream, Seq(entry("small", "key"), tooLarge))
            answers.failedRecordCount.intValue shouldBe 1
            answers.records.asScala.map(_.errorCode != null) shouldBe Seq(false, true)
          }
        )
      ) {
        withStream(1) { stream =>
          refusedArgument(putAll(stream, Seq(entry("small", "key"), tooLarge)))
          stream.texts(stream.trimHorizon(stream.onlyShard().shardId)) shouldBe empty
        }
      }

      // 5 MiB until 2025.
      promise(
        "accepts 10 MiB with all keys, and refuses more",
        Differences.NoRequestSizeLimit.instead(
          withStream(12)(stream => putAll(stream, oneLargeRecordEach(stream, 11)).failedRecordCount.intValue shouldBe 0)
        )
      ) {
        withStream(12) { stream =>
          putAll(stream, oneLargeRecordEach(stream, 10)).failedRecordCount.intValue shouldBe 0
          refusedArgument(putAll(stream, oneLargeRecordEach(stream, 11)))
        }
      }
    }
  }
}
