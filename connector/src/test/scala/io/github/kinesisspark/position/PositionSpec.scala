package io.github.kinesisspark.position

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._

class PositionSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  describe("a sequence number") {
    it("compares as an unsigned integer, regardless of its length") {
      forAll(sequenceNumbers, sequenceNumbers) { (a, b) =>
        a.compare(b).sign shouldBe BigInt(a.text).compare(BigInt(b.text)).sign
      }
      SequenceNumber("9") should be < SequenceNumber("10")
    }

    it("is refused unless it is a canonical decimal number of at most 129 digits") {
      for (text <- Seq("", "-1", "01", "1 ", "1e5", "٣", "1" * 130)) SequenceNumber.parse(text) shouldBe None
      SequenceNumber.parse("0") should not be empty
      SequenceNumber.parse("1" * 129) should not be empty
    }
  }

  describe("a position") {
    it("is equal after encoding and decoding") {
      forAll(positions)(p => decode(encode(p)) shouldBe Right(p))
    }

    it("is refused if it is LATEST, which has no fixed place, or malformed") {
      for (text <- Seq("LATEST", "", "AT_TIMESTAMP:soon", "AT_SEQUENCE_NUMBER:x", "shardId-0"))
        decode(text).isLeft shouldBe true
    }
  }

  describe("a stream's ARN") {
    it("yields region, account and name") {
      val arn = StreamArn("arn:aws-cn:kinesis:cn-north-1:123456789012:stream/a.b-c_d")
      (arn.region, arn.account, arn.name) shouldBe ("cn-north-1", "123456789012", "a.b-c_d")
    }

    it("is refused for other resources and texts") {
      for (
        text <- Seq(
          "events",
          "arn:aws:sqs:us-east-1:123456789012:stream/x",
          "arn:aws:kinesis:us-east-1:123456789012:stream/x/consumer/y:1"
        )
      )
        StreamArn.parse(text) shouldBe None
    }
  }
}
