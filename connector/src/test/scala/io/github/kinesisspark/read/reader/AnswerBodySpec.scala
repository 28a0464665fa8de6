package io.github.kinesisspark.read.reader

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.services.kinesis.model.Record
import software.amazon.awssdk.thirdparty.jackson.core.{JsonFactory, JsonGenerator}
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.reader.RandomRecords.shown

class AnswerBodySpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val seeds = Gen.choose(Long.MinValue, Long.MaxValue)

  for (format <- Seq(new CBORFactory, new JsonFactory)) describe(s"a body in ${format.getFormatName}") {
    it(
      "yields the records that the SDK would, and leaves it the rest, whatever the sizes, pieces and order of members"
    ) {
      forAll(seeds) { seed =>
        val random          = new Random(seed)
        val records         = Vector.tabulate(random.nextInt(60))(n => record(random, n))
        val body            = written(format)(writeAnswer(_, records, random))
        val (ours, rest)    = AnswerBody.split(format, new AnswerBody.Chunks(cut(body, random)))
        val asTheSdkHasThem = KinesisRecord.after(TrimHorizon, records.asJava)
        shown(ours) shouldBe shown(asTheSdkHasThem)
        RecordTotals.of(ours) shouldBe RecordTotals.of(asTheSdkHasThem)
        val parser = format.createParser(rest)
        val names  = Iterator.continually(parser.nextToken()).takeWhile(_ != null).map(_ => parser.currentName).toSet
        names should contain allOf ("Records", "NextShardIterator", "MillisBehindLatest")
        names should not contain "Data"
      }
    }

    it("is left to the SDK where anything in it is not as expected") {
      def isLeft(write: JsonGenerator => Unit) =
        Try(AnswerBody.split(format, new AnswerBody.Chunks(Seq(ByteBuffer.wrap(written(format)(write)))))).isFailure
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
        Try(AnswerBody.split(format, new AnswerBody.Chunks(Seq(ByteBuffer.wrap(early))))).isFailure shouldBe true
        body(random.nextInt(body.length)) = random.nextInt().toByte
        // Neither endless nor beyond memory, and nothing but an exception.
        Try(AnswerBody.split(format, new AnswerBody.Chunks(cut(body, random))))
      }
    }
  }

  private def record(random: Random, n: Int) = RandomRecords.record(random, n, atLimit = 70000)

  private def written(format: JsonFactory)(write: JsonGenerator => Unit): Array[Byte] = {
    val bytes     = new ByteArrayOutputStream
    val generator = format.createGenerator(bytes)
    write(generator)
    generator.close()
    bytes.toByteArray
  }

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
      () => to.writeObjectFieldStart("Unheard")
    )
    to.writeStartObject()
    random.shuffle(members.init).foreach(_())
    members.last()
    to.writeStringField("Data", "no data of the record")
    to.writeEndObject()
    to.writeEndObject()
  }

  private def cut(body: Array[Byte], random: Random): Seq[ByteBuffer] = {
    val ends = (0 +: Seq.fill(random.nextInt(10))(random.nextInt(body.length + 1)) :+ body.length).sorted
    ends.zip(ends.tail).map { case (from, until) => ByteBuffer.wrap(body, from, until - from) }
  }
}
