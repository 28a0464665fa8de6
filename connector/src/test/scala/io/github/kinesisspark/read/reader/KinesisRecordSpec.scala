package io.github.kinesisspark.read.reader

import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.Generators.seeds
import io.github.kinesisspark.position.ShardPosition.TrimHorizon

class KinesisRecordSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  describe("the records of an answer") {
    it("have what the SDK's records have, for data of all sizes, and keys of any characters or none") {
      forAll(seeds) { seed =>
        val random = new Random(seed)
        val sdk    = Vector.tabulate(random.nextInt(60))(n => record(random, n))
        val ours   = KinesisRecord.after(TrimHorizon, sdk.asJava)
        ours.map(_.sequenceNumber.text).toVector shouldBe sdk.map(_.sequenceNumber)
        ours.map(_.sequenceNumberText.toString).toVector shouldBe sdk.map(_.sequenceNumber)
        ours.map(_.partitionKey).toVector shouldBe sdk.map(_.partitionKey)
        ours.map(r => Option(r.partitionKeyText).map(_.toString)).toVector shouldBe sdk.map(r => Option(r.partitionKey))
        ours.map(_.data.toVector).toVector shouldBe sdk.map(_.data.asByteArray.toVector)
        ours.map(_.arrivalMillis).toVector shouldBe sdk.map(_.approximateArrivalTimestamp.toEpochMilli)
        ours.map(_.size).toVector shouldBe
          sdk.map(r =>
            r.data.asByteArrayUnsafe.length.toLong + Option(r.partitionKey).fold(0)(_.getBytes("UTF-8").length)
          )
        RecordTotals.of(ours).heap shouldBe KinesisRecord.heapOf(ours.length.toLong, ours.map(_.size).sum)
      }
    }

    it("say whether data begin with a prefix without copying them") {
      val records = KinesisRecord.after(TrimHorizon, Vector(plain(1, "abcd"), plain(2, "ab"), plain(3, "xbcd")).asJava)
      records.map(_.startsWith("abc".getBytes)).toVector shouldBe Vector(true, false, false)
    }
  }

  describe("a poller's next call") {
    it("asks for about as much as is wanted of records like the last ones, between 1 and 10,000 records") {
      def limit(records: Int, size: Int) = {
        val all = Array.tabulate(records)(n => KinesisRecord(number(n), "", new Array[Byte](size), 0))
        PollingRecordPublisher.limitAfter(Some(RecordTotals.of(all)), 4 << 20, first = 1)
      }
      limit(1000, 1024) shouldBe 4096
      limit(10, 1) shouldBe 10000
      limit(1, 10 << 20) shouldBe 1
      PollingRecordPublisher.limitAfter(None, 400 << 10, first = 4 << 10) shouldBe 100
    }

    it(
      "asks for so little that two answers and something over fit in its reader's share, and for 4 MiB where that is large"
    ) {
      MemoryBudget.answer(500L << 10) shouldBe (200L << 10)
      MemoryBudget.answer(100L << 20) shouldBe (4L << 20)
    }
  }

  private def number(n: Int) = io.github.kinesisspark.position.SequenceNumber((n + 1).toString)

  private def plain(n: Int, data: String) = record(n, data.getBytes, "key")

  private def record(random: Random, n: Int): Record = {
    // Around the sizes where records are packed otherwise, too.
    val size = random.nextInt(5) match {
      case 0 => 0
      case 1 => (16 << 10) + random.nextInt(3) - 1
      case 2 => 100000
      case _ => random.nextInt(3000)
    }
    val key = random.nextInt(4) match {
      case 0 => null
      case 1 => "Schlüssel-鍵-🔑" * (1 + random.nextInt(5))
      case _ => random.alphanumeric.take(1 + random.nextInt(256)).mkString
    }
    record(n, random.nextBytes(size), key)
  }

  private def record(n: Int, data: Array[Byte], key: String): Record = Record.builder
    .sequenceNumber("4" + f"$n%055d")
    .data(SdkBytes.fromByteArray(data))
    .partitionKey(key)
    .approximateArrivalTimestamp(Instant.ofEpochMilli(1700000000000L + n))
    .build
}
