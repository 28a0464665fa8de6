package io.github.kinesisspark.read.reader

import java.lang.management.ManagementFactory
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import com.sun.management.ThreadMXBean
import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.Record
import software.amazon.awssdk.thirdparty.jackson.core.{JsonFactory, JsonGenerator}
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

import io.github.kinesisspark.Generators.seeds
import io.github.kinesisspark.aws.Bodies.{cut, names, written}
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.reader.RandomRecords.shown

class RecordExtractorSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  for (format <- Seq(new CBORFactory, new JsonFactory)) describe(s"a body in ${format.getFormatName}") {
    val split = RecordExtractor.splitter(s"application/x-amz-${format.getFormatName.toLowerCase(Locale.ROOT)}-1.1").get

    it(
      "yields the records that the SDK would, and leaves it the rest, whatever the sizes, pieces and order of members"
    ) {
      forAll(seeds) { seed =>
        val random          = new Random(seed)
        val records         = Vector.tabulate(random.nextInt(60))(n => record(random, n))
        val body            = written(format)(writeAnswer(_, records, random))
        val (ours, rest)    = split(cut(body, random))
        val asTheSdkHasThem = KinesisRecord.after(TrimHorizon, records.asJava)
        shown(ours) shouldBe shown(asTheSdkHasThem)
        RecordTotals.of(ours) shouldBe RecordTotals.of(asTheSdkHasThem)
        names(format, rest) should contain allOf ("Records", "NextShardIterator", "MillisBehindLatest")
        names(format, rest) should not contain "Data"
      }
    }

    it("takes as much memory for records of which every other one is large as for others") {
      def record(n: Int, bytes: Int) = Record.builder
        .data(SdkBytes.fromByteArray(new Array[Byte](bytes)))
        .partitionKey("key")
        .sequenceNumber((n + 1).toString)
        .approximateArrivalTimestamp(Instant.ofEpochMilli(1700000000000L))
        .build
      def allocatedFor(sizes: Int => Int): Double = {
        val records = Vector.tabulate(600)(n => record(n, sizes(n)))
        val body    = Seq(ByteBuffer.wrap(written(format)(writeAnswer(_, records, new Random(1)))))
        split(body)._1 should have size 600
        val threads = ManagementFactory.getThreadMXBean.asInstanceOf[ThreadMXBean]
        val before  = threads.getThreadAllocatedBytes(Thread.currentThread.getId)
        split(body)
        (threads.getThreadAllocatedBytes(Thread.currentThread.getId) - before).toDouble / body.head.remaining
      }
      allocatedFor(n => if (n % 2 == 0) 17000 else 100) should be < 2 * allocatedFor(_ => 8500)
    }

    it("is left to the SDK where anything in it is not as expected") {
      def isLeft(write: JsonGenerator => Unit) =
        Try(split(Seq(ByteBuffer.wrap(written(format)(write))))).isFailure
      val one                   = record(new Random(1), 1)
      val other                 = record(new Random(2), 2)
      def records(all: Record*) = isLeft(writeAnswer(_, all, new Random(1)))
      records(one, other) shouldBe false
      records(other, one) shouldBe true
      records(one, one) shouldBe true
      records(one.toBuilder.data(null).build) shouldBe true
      records(one.toBuilder.sequenceNumber(null).build) shouldBe true
      records(one.toBuilder.sequenceNumber("01").build) shouldBe true
      records(one.toBuilder.sequenceNumber("1x").build) shouldBe true
      records(one.toBuilder.sequenceNumber("1" * 130).build) shouldBe true
      records(one.toBuilder.approximateArrivalTimestamp(null).build) shouldBe true
      isLeft { g => g.writeStartObject(); g.writeEndObject() } shouldBe true
      isLeft(_.writeString("no")) shouldBe true
    }

    it("is left to the SDK where it ends early, and read or left where a byte of it is changed") {
      forAll(seeds) { seed =>
        val random  = new Random(seed)
        val records = Vector.tabulate(1 + random.nextInt(4))(n => record(random, n))
        val body    = written(format)(writeAnswer(_, records, random))
        val early   = body.take(random.nextInt(body.length))
        Try(split(Seq(ByteBuffer.wrap(early)))).isFailure shouldBe true
        body(random.nextInt(body.length)) = random.nextInt().toByte
        // Neither endless nor beyond memory, and nothing but an exception.
        Try(split(cut(body, random)))
      }
    }
  }

  describe("a body") {
    val cbor = written(new CBORFactory)(writeAnswer(_, Seq(record(new Random(1), 1)), new Random(1)))
    val json = written(new JsonFactory)(writeAnswer(_, Seq(record(new Random(1), 1)), new Random(1)))

    /** Why the SDK decodes it, and whether the SDK gets it as it came. */
    def through(bytes: Array[Byte], headers: (String, String)*) = {
      val body = new RecordExtractor
      val http = SdkHttpResponse.builder.statusCode(200)
      headers.foreach { case (name, value) => http.putHeader(name, value) }
      var passed                         = Array.empty[Byte]
      val network: Publisher[ByteBuffer] = { to =>
        to.onSubscribe(new Flow {
          override def request(n: Long): Unit = ()
          override def cancel(): Unit         = ()
        })
        to.onNext(ByteBuffer.wrap(bytes))
        to.onComplete()
      }
      body
        .through(http.build, network)
        .subscribe(new Subscriber[ByteBuffer] {
          override def onSubscribe(flow: Flow): Unit   = ()
          override def onNext(some: ByteBuffer): Unit  = passed ++= some.array.slice(some.position(), some.limit())
          override def onError(cause: Throwable): Unit = throw cause
          override def onComplete(): Unit              = ()
        })
      (body.leftToSdk, passed.sameElements(bytes))
    }

    it("is read by the content types that Kinesis answers with") {
      through(cbor, "Content-Type" -> "application/x-amz-cbor-1.1") shouldBe ((None, false))
      through(json, "Content-Type" -> "application/x-amz-json-1.1") shouldBe ((None, false))
      through(json, "Content-Type" -> "Application/X-Amz-JSON-1.1; charset=utf-8") shouldBe ((None, false))
    }

    it("is left to the SDK as it came, with the cause, if it is of another content type, compressed or damaged") {
      // In CBOR by Smithy's protocol times are in seconds.
      for (other <- Seq("application/cbor", "application/x-amz-cbor-2.0", "text/cbor", "application/json", "text/html"))
        through(cbor, "Content-Type" -> other) shouldBe ((Some(s"content type '$other'"), true))
      through(cbor) shouldBe ((Some("content type ''"), true))
      val known = "Content-Type" -> "application/x-amz-cbor-1.1"
      through(cbor, known, "Content-Encoding" -> "gzip")._2 shouldBe true
      through(cbor, known, "x-amz-crc32" -> "1") shouldBe ((Some("a body that is compressed or has a checksum"), true))
      through(cbor.dropRight(1), known) shouldBe ((Some("expected more bytes"), true))
      through(cbor :+ 0.toByte, known) shouldBe ((Some("expected nothing behind the object"), true))
      through(Array.emptyByteArray, known)._1 should not be empty
    }
  }

  describe("a body in CBOR, as other encoders write it") {
    def text(characters: String): Array[Byte]  = textOf(characters.getBytes(UTF_8))
    def textOf(utf8: Array[Byte]): Array[Byte] = Array(0x78.toByte, utf8.length.toByte) ++ utf8
    def bytes(all: Int*): Array[Byte]          = all.map(_.toByte).toArray
    def body(members: (String, Array[Byte])*)  = {
      val record = Map(
        "Data"                        -> bytes(0x43, 1, 2, 3),
        "SequenceNumber"              -> text("12"),
        "PartitionKey"                -> text("k"),
        "ApproximateArrivalTimestamp" -> bytes(0x1b, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0)
      ) ++ members
      bytes(0xa1) ++ text("Records") ++ bytes(0x81, 0xa0 + record.size) ++
        record.toSeq.flatMap { case (name, value) => text(name) ++ value }
    }
    def read(answer: Array[Byte]) = CborRecords
      .split(Seq(ByteBuffer.wrap(answer)))
      ._1
      .toSeq
      .map(r => (r.sequenceNumber.text, r.partitionKey, r.data.toSeq, r.arrivalMillis))
    def isLeft(members: (String, Array[Byte])*) = Try(read(body(members: _*))).isFailure
    val plain                                   = Seq(("12", "k", Seq[Byte](1, 2, 3), 1700000000000L))

    it("yields the record with counts instead of ends, and with lengths longer than they need be") {
      read(body()) shouldBe plain
      read(body("Data" -> bytes(0x5b, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3))) shouldBe plain
      read(body("ApproximateArrivalTimestamp" -> bytes(0xc1, 0x1b, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0))) shouldBe plain
      read(body("Unknown" -> bytes(0x9f, 0xbf, 0x61, 0x61, 0xf9, 0, 0, 0xff, 0x20, 0xf4, 0xff))) shouldBe plain
      read(body("Unknown" -> bytes(0xfb, 0xc0, 0, 0, 0, 0, 0, 0, 0))) shouldBe plain
    }

    it("is left to the SDK where a value is tagged, unless it is a time") {
      // 2 and 3 make numbers of bytes, 25 stands for an earlier text; a reader that passes over them reads something else.
      for (tag <- Seq(bytes(0xc2), bytes(0xc3), bytes(0xd7), bytes(0xd8, 25), bytes(0xc1))) {
        isLeft("Data" -> (tag ++ bytes(0x43, 1, 2, 3))) shouldBe true
        isLeft("SequenceNumber" -> (tag ++ text("12"))) shouldBe true
      }
      isLeft("ApproximateArrivalTimestamp" -> bytes(0xc2, 0x1a, 0, 0, 0, 1)) shouldBe true
      isLeft("ApproximateArrivalTimestamp" -> bytes(0xc1, 0xc1, 0x1a, 0, 0, 0, 1)) shouldBe true
      isLeft("Unknown" -> bytes(0xc2, 0x41, 1)) shouldBe true
      isLeft("Unknown" -> bytes(0xc1, 0x1a, 0, 0, 0, 1)) shouldBe false
    }

    it("is left to the SDK where a member comes in pieces, is of another kind, or longer than the answer") {
      isLeft() shouldBe false
      isLeft("PartitionKey" -> bytes(0xf6)) shouldBe false
      for (
        (member, value) <- Seq(
          "PartitionKey"                -> bytes(0x7f, 0x61, 0x6b, 0xff),
          "PartitionKey"                -> bytes(0x41, 0x6b),
          "PartitionKey"                -> textOf(bytes(0xc0)),
          "PartitionKey"                -> bytes(0xf9, 0, 22),
          "PartitionKey"                -> bytes(0xf8, 22),
          "EncryptionType"              -> bytes(0x01),
          "EncryptionType"              -> (bytes(0xa1) ++ text("PartitionKey") ++ text("other")),
          "Data"                        -> bytes(0x5f, 0x41, 1, 0xff),
          "Data"                        -> bytes(0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
          "Data"                        -> bytes(0x5a, 0x7f, 0xff, 0xff, 0xff),
          "Data"                        -> bytes(0x5b, 0x80, 0, 0, 0, 0, 0, 0, 0),
          "Data"                        -> text("abc"),
          "Data"                        -> bytes(0xf6),
          "SequenceNumber"              -> bytes(0x0c),
          "ApproximateArrivalTimestamp" -> bytes(0xfb, 0x42, 0x78, 0xbc, 0xfe, 0x56, 0x80, 0, 0),
          "ApproximateArrivalTimestamp" -> bytes(0x20),
          "ApproximateArrivalTimestamp" -> bytes(0x1f),
          "Unknown"                     -> bytes(0x5f, 0x41, 1, 0xff),
          "Unknown"                     -> bytes(0xff),
          "Unknown"                     -> bytes(0x1c),
          "Unknown"                     -> bytes(0x1f),
          "Unknown"                     -> bytes(0x3f),
          "Unknown"                     -> bytes(0xe0),
          "Unknown"                     -> bytes(0xf8, 1),
          "Unknown"                     -> bytes(0xa1, 0xf6, 1),
          "Unknown"                     -> (Array.fill(1000)(0x81.toByte) ++ bytes(0))
        )
      ) withClue(s"$member ${value.map(b => f"$b%02x").mkString(" ")}")(isLeft(member -> value) shouldBe true)
    }
  }

  private def record(random: Random, n: Int) = RandomRecords.record(random, n, atLimit = 70000)

  private def writeAnswer(to: JsonGenerator, records: Seq[Record], random: Random): Unit = {
    val members = Seq[() => Unit](
      () => {
        to.writeArrayFieldStart("Records")
        records.foreach(writeRecord(to, _, random))
        to.writeEndArray()
      },
      () => to.writeStringField("NextShardIterator", "next"),
      () => to.writeNumberField("MillisBehindLatest", 5L),
      () => {
        to.writeArrayFieldStart("ChildShards")
        to.writeStartObject()
        to.writeStringField("ShardId", "shardId-000000000001")
        to.writeEndObject()
        to.writeEndArray()
      }
    )
    to.writeStartObject()
    random.shuffle(members).foreach(_())
    to.writeEndObject()
  }

  private def writeRecord(to: JsonGenerator, record: Record, random: Random): Unit = {
    val isCbor  = to.getClass.getSimpleName.startsWith("CBOR")
    val members = Seq[() => Unit](
      () => Option(record.data).foreach(data => to.writeBinaryField("Data", data.asByteArrayUnsafe)),
      () =>
        if (record.partitionKey != null) to.writeStringField("PartitionKey", record.partitionKey)
        else if (random.nextBoolean()) to.writeNullField("PartitionKey"),
      () => Option(record.sequenceNumber).foreach(to.writeStringField("SequenceNumber", _)),
      () =>
        Option(record.approximateArrivalTimestamp).map(_.toEpochMilli).foreach { millis =>
          to.writeFieldName("ApproximateArrivalTimestamp")
          if (isCbor) to.writeNumber(millis) else to.writeNumber(java.math.BigDecimal.valueOf(millis, 3))
        },
      () => {
        to.writeObjectFieldStart("Unknown")
        to.writeStringField("Data", "no data of the record")
        to.writeEndObject()
      }
    )
    to.writeStartObject()
    random.shuffle(members).foreach(_())
    to.writeEndObject()
  }
}
