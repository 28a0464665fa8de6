package io.github.kinesisspark.write

import java.nio.ByteBuffer

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.services.kinesis.model.{PutRecordsResponse, PutRecordsResultEntry}
import software.amazon.awssdk.thirdparty.jackson.core.JsonGenerator
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

import io.github.kinesisspark.Generators.seeds
import io.github.kinesisspark.aws.Bodies.{cut, names, written}
import io.github.kinesisspark.aws.DamagedAnswer
import io.github.kinesisspark.write.send.RecordAnswer

class PutResultExtractorSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val cbor  = new CBORFactory
  private val split = PutResultExtractor.splitter("application/x-amz-cbor-1.1").get

  it(
    "yields what the SDK would, and leaves it the rest, whatever the results, their shards, pieces and order of members"
  ) {
    forAll(seeds) { seed =>
      val random          = new Random(seed)
      val results         = Vector.fill(random.nextInt(60))(result(random))
      val (ours, rest)    = split(cut(written(cbor)(writeAnswer(_, results, random)), random))
      val asTheSdkHasThem = PutRecordsResponse.builder.records(results.asJava).build
      ours shouldBe new PutResultExtractor().of(asTheSdkHasThem, results.size)
      names(cbor, rest) should contain allOf ("Records", "FailedRecordCount", "EncryptionType")
      names(cbor, rest) should not contain "ShardId"
    }
  }

  it("is left to the SDK where anything in it is not as expected") {
    def isLeft(write: JsonGenerator => Unit)  = Try(split(Seq(ByteBuffer.wrap(written(cbor)(write))))).isFailure
    def hasResult(members: (String, String)*) = isLeft { g =>
      g.writeStartObject()
      g.writeArrayFieldStart("Records")
      g.writeStartObject()
      members.foreach { case (name, value) => g.writeStringField(name, value) }
      g.writeEndObject()
      g.writeEndArray()
      g.writeEndObject()
    }
    val shard = "ShardId" -> "shardId-000000000000"
    hasResult(shard) shouldBe false
    hasResult("ErrorCode" -> "InternalFailure") shouldBe false
    hasResult() shouldBe true
    hasResult("ErrorMessage" -> "Internal service failure.") shouldBe true
    hasResult("ShardId" -> null) shouldBe true
    hasResult("ShardId" -> "") shouldBe true
    hasResult("ShardId" -> "a shard\n") shouldBe true
    hasResult(shard, shard) shouldBe true
    hasResult("ErrorCode" -> "A", "ErrorCode" -> "B") shouldBe true
    isLeft { g => g.writeStartObject(); g.writeEndObject() } shouldBe true
    isLeft { g => g.writeStartObject(); g.writeNullField("Records"); g.writeEndObject() } shouldBe true
    isLeft(_.writeString("no")) shouldBe true
  }

  it("is left to the SDK where it ends early, and read or left where a byte of it is changed") {
    forAll(seeds) { seed =>
      val random = new Random(seed)
      val body   = written(cbor)(writeAnswer(_, Vector.fill(1 + random.nextInt(4))(result(random)), random))
      Try(split(Seq(ByteBuffer.wrap(body.take(random.nextInt(body.length)))))).isFailure shouldBe true
      body(random.nextInt(body.length)) = random.nextInt().toByte
      // Neither endless nor beyond memory, and nothing but an exception.
      Try(split(cut(body, random)))
    }
  }

  it("must have a result for each record that was sent, of which each names a shard or an error") {
    def of(records: Int, results: PutRecordsResultEntry*) =
      Try(new PutResultExtractor().of(PutRecordsResponse.builder.records(results.asJava).build, records))
    val one = PutRecordsResultEntry.builder.shardId("shardId-000000000000").build
    of(1, one).get shouldBe Vector(RecordAnswer.Taken("shardId-000000000000"))
    for ((records, results) <- Seq(2 -> Seq(one), 1 -> Seq(one, one), 1 -> Seq(PutRecordsResultEntry.builder.build)))
      of(records, results: _*).failed.get shouldBe a[DamagedAnswer]
  }

  it("must refuse as many records as it counts, if it counts them") {
    val taken              = PutRecordsResultEntry.builder.shardId("shardId-000000000000").build
    val refused            = PutRecordsResultEntry.builder.errorCode("InternalFailure").build
    def of(count: Integer) = {
      val answer = PutRecordsResponse.builder.records(taken, refused).failedRecordCount(count).build
      Try(new PutResultExtractor().of(answer, 2))
    }
    for (right <- Seq[Integer](1, null)) of(right).get should have size 2
    for (wrong <- Seq[Integer](0, 2, -1)) of(wrong).failed.get shouldBe a[DamagedAnswer]
  }

  it("is the SDK's in JSON") {
    PutResultExtractor.splitter("application/x-amz-json-1.1") shouldBe None
  }

  /** Of shards that differ at the end of their IDs and in other places. */
  private def result(random: Random) = {
    val result = PutRecordsResultEntry.builder
    if (random.nextInt(4) > 0)
      result.sequenceNumber(random.nextLong().toString).shardId(f"shardId-${random.nextInt(40) * 7}%012d").build
    else {
      result.errorCode(if (random.nextBoolean()) "InternalFailure" else "ProvisionedThroughputExceededException")
      if (random.nextBoolean()) result.errorMessage("Rate exceeded\u2028 for a sh\u00e4rd " + "x" * random.nextInt(500))
      result.build
    }
  }

  private def writeAnswer(to: JsonGenerator, results: Seq[PutRecordsResultEntry], random: Random): Unit = {
    val members = Seq[() => Unit](
      () => {
        to.writeArrayFieldStart("Records")
        results.foreach(writeResult(to, _, random))
        to.writeEndArray()
      },
      () => to.writeNumberField("FailedRecordCount", results.count(_.errorCode != null)),
      () => to.writeStringField("EncryptionType", "NONE")
    )
    to.writeStartObject()
    random.shuffle(members).foreach(_())
    to.writeEndObject()
  }

  private def writeResult(to: JsonGenerator, result: PutRecordsResultEntry, random: Random): Unit = {
    def text(name: String, value: String): () => Unit = () =>
      if (value != null) to.writeStringField(name, value) else if (random.nextBoolean()) to.writeNullField(name)
    val members = Seq(
      text("SequenceNumber", result.sequenceNumber),
      text("ShardId", result.shardId),
      text("ErrorCode", result.errorCode),
      text("ErrorMessage", result.errorMessage),
      () => {
        to.writeObjectFieldStart("Unknown")
        to.writeStringField("ShardId", "no shard of the result")
        to.writeEndObject()
      }
    )
    to.writeStartObject()
    random.shuffle(members).foreach(_())
    to.writeEndObject()
  }
}
