package io.github.kinesisspark.it

import java.nio.file.Files

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ServersDocumentSpec extends AnyFunSpec with Matchers {
  if (sys.env.get("KINESIS_SPARK_WRITE_DOCS").contains("1")) ServersDocument.write()

  describe("SERVERS.md") {
    it("equals the text generated from the table of differences") {
      Files.readString(ServersDocument.file) shouldBe ServersDocument.text
    }
  }

  describe("The table of differences") {
    it("has unique IDs, and every difference belongs to a server") {
      Differences.all.map(_.id).distinct should have size Differences.all.size.toLong
      KinesisTarget.all.flatMap(_.differences.all).toSet shouldBe Differences.all.toSet
    }

    it("is empty for the embedded server in either profile") {
      Seq(KinesisTarget.Testkit, KinesisTarget.RealisticAlpn, KinesisTarget.RealisticTls).foreach(
        _.differences shouldBe KnownDifferences.Measured(Set.empty)
      )
    }

    it("names recordings for AWS, and nothing else until the suite has run there") {
      KinesisTarget.Aws.differences shouldBe KnownDifferences.NotRunYet(Recordings.refuted)
      Recordings.all should contain allElementsOf Recordings.refuted.values
      ServersDocument.text should include("`aws` has not been run yet")
    }
  }
}
