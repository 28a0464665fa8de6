package io.github.kinesisspark.it.aws

import java.net.URI
import java.nio.file.Path

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.model.StreamStatus

class AwsSettingsSpec extends AnyFunSpec with Matchers {
  private def refusal(variables: (String, String)*) = AwsSettings.parse(variables.toMap).left.toOption.get

  describe("the settings of a run against AWS") {
    it("need a region alone") {
      AwsSettings.parse(Map("REGION" -> "eu-west-1", "ENDPOINT" -> "")) shouldBe
        Right(AwsSettings(Region.EU_WEST_1, None, None))
    }

    it("are refused without a region") {
      refusal() should include("REGION=")
    }

    it("take another endpoint over TLS with its trust store, and refuse one in cleartext") {
      val variables = Map("REGION" -> "eu-west-1", "ENDPOINT" -> "https://localhost:1", "TRUST_STORE" -> "/a")
      AwsSettings.parse(variables) shouldBe
        Right(AwsSettings(Region.EU_WEST_1, Some(URI.create("https://localhost:1")), Some(Path.of("/a"))))
      refusal("REGION" -> "eu-west-1", "ENDPOINT" -> "http://localhost:1") should include("TLS")
    }

    it("refuse a budget that is no positive number") {
      TestAws.budgetOf(Map("BUDGET" -> "70")) shouldBe Right(Budget(70))
      Seq("0", "-1", "1.5", "much").foreach(text => TestAws.budgetOf(Map("BUDGET" -> text)).isLeft shouldBe true)
    }
  }

  describe("the clean-up") {
    it("refuses a prefix that streams of others may have") {
      Seq("", "orders", "ks").foreach(prefix => OwnStreams.checked(prefix).isLeft shouldBe true)
      OwnStreams.checked("kst-1-") shouldBe Right("kst-1-")
    }

    it("counts shards, and consumers x shards of each stream") {
      val streams = Seq(
        Found("a", StreamStatus.ACTIVE, shards = 3, consumers = Seq("x", "y")),
        Found("b", StreamStatus.CREATING, shards = 4, consumers = Nil)
      )
      OwnStreams.holding(streams) shouldBe Holding(7, 6)
    }

    it("reports a stream with its state, shards and consumers") {
      OwnStreams.describe(Found("a", StreamStatus.ACTIVE, 3, Seq("x"))) shouldBe
        "Deleting stream a (ACTIVE, 3 open shards, consumers x)"
    }
  }
}
