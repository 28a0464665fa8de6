package io.github.kinesisspark.aws

import java.net.URI

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.ConsumerClaims.Claim
import io.github.kinesisspark.position.StreamArn

class ConsumerClaimsSpec extends AnyFunSpec with Matchers {
  private val stream = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/orders")
  private val other  = StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/returns")

  describe("a consumer that a query reads through") {
    it("is taken anywhere for its stream, by whatever endpoint, until it is given back") {
      val claims = new ConsumerClaims
      val claim  = Claim(Some(URI.create("https://vpce.example.com")), stream, "app")
      claims.take(claim)
      claims.isTaken(Claim(None, stream, "app")) shouldBe false
      claims.isTakenAnywhere(stream, "app") shouldBe true
      claims.isTakenAnywhere(other, "app") shouldBe false
      claims.isTakenAnywhere(stream, "another") shouldBe false
      claims.giveBack(claim)
      claims.isTakenAnywhere(stream, "app") shouldBe false
    }
  }
}
