package io.github.kinesisspark.aggregation

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat

import scala.util.Random

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.kinesis.retrieval.kpl.{Messages => KclMessages}

import io.github.kinesisspark.aggregation.AggregatedRecord._
import io.github.kinesisspark.aggregation.UserRecords._
import io.github.kinesisspark.position.{HashKey, HashKeyRange}

class AggregatedRecordSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200)

  private val lower = HashKeyRange(0, HashKey.Last / 2)

  private def read(payload: Array[Byte], shard: HashKeyRange = HashKeyRange.all) =
    AggregatedRecord.read(payload) match {
      case all: Aggregated => all.within(shard).map(user => shown(user.record) -> user.place)
      case other           => fail(s"$other")
    }

  private def throughKcl(payload: Array[Byte], shard: HashKeyRange = HashKeyRange.all) =
    toKcl(payload, shard).map { case (record, place) => shown(record) -> place }

  private def envelope(message: Array[Byte]) =
    HexFormat.of.parseHex("f3899ac2") ++ message ++ MessageDigest.getInstance("MD5").digest(message)

  private def ofMessage(build: KclMessages.AggregatedRecord.Builder => Any) = {
    val builder = KclMessages.AggregatedRecord.newBuilder
    build(builder): Unit
    envelope(builder.build.toByteArray)
  }

  describe("an aggregated record") {
    it("has exactly the bytes of the published format") {
      val records = Seq(
        UserRecord("one".getBytes, "a"),
        UserRecord("two".getBytes, "b", Some(BigInt(7))),
        UserRecord(Array.emptyByteArray, "a")
      )
      // Tables: "a", "b"; "7". Records: (0, "one"), (1, 0, "two"), (0, "").
      val message = "0a0161" + "0a0162" + "120137" + "1a0708001a036f6e65" + "1a09080110001a0374776f" + "1a0408001a00"
      val md5     = HexFormat.of.formatHex(MessageDigest.getInstance("MD5").digest(HexFormat.of.parseHex(message)))
      HexFormat.of.formatHex(aggregated(records)) shouldBe s"f3899ac2$message$md5"
    }

    it("equals the encoding of the KCL's own message classes") {
      forAll(some)(records => aggregated(records) shouldBe envelope(kclMessage(records)))
    }

    it("knows its encoded length before it is encoded") {
      forAll(some) { records =>
        val growing = new AggregatedRecord[UserRecord]
        records.foreach { record =>
          growing.add(record)
          growing.bytes shouldBe growing.payload.length
        }
      }
    }

    it("takes in a user record up to exactly the limit of its bytes, and is unchanged by one beyond it") {
      forAll(some, userRecord) { (records, last) =>
        val key            = last.partitionKey.getBytes(UTF_8)
        def grown          = records.foldLeft(new AggregatedRecord[UserRecord])(_.add(_))
        val size           = grown.add(last).bytes
        val (within, over) = (grown, grown)
        within.addUpTo(size, last, key) shouldBe true
        within.payload shouldBe aggregated(records :+ last)
        over.addUpTo(size - 1, last, key) shouldBe false
        over.payload shouldBe aggregated(records)
        over.records shouldBe records
      }
    }

    it("equals the encoding of the KCL's own message classes with thousands of keys and long data") {
      val records = (0 until 3000).map(n => UserRecord(new Array[Byte](n % 400), s"key-${n % 1500}", Some(n % 700)))
      aggregated(records) shouldBe envelope(kclMessage(records))
    }

    it("decodes to the original user records, in this connector and in the KCL") {
      forAll(some) { records =>
        val payload = aggregated(records)
        read(payload) shouldBe records.map(shown).zipWithIndex.map { case (r, i) => r -> i.toLong }
        throughKcl(payload) shouldBe read(payload)
      }
    }

    it("is not decoded if it is nested in another aggregated record") {
      val inner = aggregated(Seq(UserRecord("x".getBytes, "k")))
      read(aggregated(Seq(UserRecord(inner, "k")))).map(_._1._1) shouldBe Vector(inner.toSeq)
    }

    it("decodes with tags, which are ignored") {
      val payload = ofMessage { m =>
        m.addPartitionKeyTable("k")
          .addRecordsBuilder
          .setPartitionKeyIndex(0)
          .setData(com.google.protobuf.ByteString.copyFromUtf8("x"))
          .addTagsBuilder
          .setKey("tag")
          .setValue("value")
      }
      read(payload).map(_._1) shouldBe Vector(("x".getBytes.toSeq, "k", None))
    }

    it("decodes to no rows if it holds no user records") {
      val payload = ofMessage(_.addPartitionKeyTable("k"))
      read(payload) shouldBe empty
      throughKcl(payload) shouldBe empty
    }
  }

  describe("decoding an aggregated record for a shard") {
    it("yields the user records of the shard with their places in the whole record") {
      forAll(some, hashKeys, hashKeys) { (records, a, b) =>
        val shard = HashKeyRange(a.min(b), a.max(b))
        read(aggregated(records), shard) shouldBe records.zipWithIndex.collect {
          case (r, place) if shard.contains(r.explicitHashKey.getOrElse(HashKey.of(r.partitionKey))) =>
            shown(r) -> place.toLong
        }
      }
    }

    it("matches the KCL if all user records belong to the shard") {
      forAll(some) { records =>
        val own = records.filter(r => lower.contains(r.hashKey))
        whenever(own.nonEmpty) {
          throughKcl(aggregated(own), lower) shouldBe read(aggregated(own), lower)
        }
      }
    }

    it("keeps the shard's user records if one belongs elsewhere, where the KCL drops all") {
      val records =
        Vector(UserRecord("mine".getBytes, "k", Some(1)), UserRecord("other".getBytes, "k", Some(HashKey.Last)))
      for (payload <- Seq(aggregated(records), aggregated(records.reverse))) {
        throughKcl(payload, lower) shouldBe empty
        read(payload, lower).map(_._1) shouldBe Vector(shown(records.head))
      }
    }
  }

  describe("a payload that is not an aggregated record") {
    it("is plain data if it lacks the magic number") {
      forAll(data)(payload =>
        whenever(payload.headOption.forall(_ != 0xf3.toByte))(AggregatedRecord.read(payload) shouldBe Plain)
      )
    }

    it("is damaged if it is cut off or has a changed byte, where the KCL takes it for plain data") {
      forAll(some, Gen.long) { (records, seed) =>
        val random  = new Random(seed)
        val payload = aggregated(records)
        val cut     = payload.take(4 + random.nextInt(payload.length - 4))
        val changed = payload.updated(4 + random.nextInt(payload.length - 4), (random.nextInt(255) + 1).toByte)
        for (wrong <- Seq(cut, changed) if wrong.toSeq != payload.toSeq) {
          AggregatedRecord.read(wrong) shouldBe a[Damaged]
          throughKcl(wrong).map(_._1._1) shouldBe Vector(wrong.toSeq)
        }
      }
    }

    it("never fails decoding, whatever its message is") {
      val nesting = Array.fill(5000)(0x1b.toByte)
      forAll(Gen.oneOf(data, some.map(kclMessage), Gen.const(nesting)), Gen.long) { (message, seed) =>
        val random = new Random(seed)
        val wrong  = message.clone()
        if (wrong.nonEmpty)
          for (_ <- 0 to random.nextInt(4)) wrong(random.nextInt(wrong.length)) = random.nextInt().toByte
        for (payload <- Seq(wrong, envelope(wrong), envelope(wrong.take(random.nextInt(wrong.length + 1)))))
          AggregatedRecord.read(payload) match {
            case Plain | _: Damaged => succeed
            case all: Aggregated    => all.within(lower).size should be <= all.records.size
          }
      }
    }

    it("is damaged if its message is empty, or a table index or hash key is invalid") {
      def record(m: KclMessages.AggregatedRecord.Builder) =
        m.addPartitionKeyTable("k")
          .addRecordsBuilder
          .setPartitionKeyIndex(0)
          .setData(com.google.protobuf.ByteString.EMPTY)
      val wrong = Seq(
        envelope(Array.emptyByteArray),
        HexFormat.of.parseHex("f3899ac2"),
        ofMessage(record(_).setPartitionKeyIndex(1)),
        ofMessage(record(_).setPartitionKeyIndex(-1)),
        ofMessage(record(_).setPartitionKeyIndex(1L << 32)),
        ofMessage(record(_).setExplicitHashKeyIndex(0)),
        ofMessage(m => record(m.addExplicitHashKeyTable("abc")).setExplicitHashKeyIndex(0)),
        ofMessage(m => record(m.addPartitionKeyTable("k" * 1025))),
        ofMessage(m => record(m.addExplicitHashKeyTable("-1")).setExplicitHashKeyIndex(0)),
        ofMessage(m => record(m.addExplicitHashKeyTable((HashKey.Last + 1).toString)).setExplicitHashKeyIndex(0))
      )
      wrong.foreach(payload => AggregatedRecord.read(payload) shouldBe a[Damaged])
    }

    it("has one text for each key, also if its bytes are no UTF-8, as a record may have a hundred thousand of them") {
      val noText  = com.google.protobuf.ByteString.copyFrom(Array.fill(1024)(0xff.toByte))
      val payload = ofMessage { m =>
        m.addPartitionKeyTableBytes(noText)
        for (_ <- 1 to 3) m.addRecordsBuilder.setPartitionKeyIndex(0).setData(com.google.protobuf.ByteString.EMPTY)
      }
      AggregatedRecord.read(payload) match {
        case Aggregated(records) =>
          val keys = records.map(_.partitionKey)
          keys should have size 3
          keys.foreach(_ should be theSameInstanceAs keys.head)
        case other => fail(other.toString)
      }
    }
  }
}
