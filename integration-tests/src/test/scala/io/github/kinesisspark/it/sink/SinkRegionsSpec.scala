package io.github.kinesisspark.it.sink

import scala.util.Using

import org.apache.spark.sql.functions._

import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.testkit.{AccessKey, Account, KinesisServer, KinesisServerConfig}

/** Writes to two embedded servers that stand for two regions. Each refuses calls that are signed for another region. */
final class SinkRegionsSpec extends TestkitSuite(SinkRegionsSpec.in("us-east-1")) {

  it("rows go to the region of the ARN that they name, others to the region of the option") {
    val here = newStream(shards = 1)
    Using.resource(KinesisServer.start(SinkRegionsSpec.in("eu-west-1"))) { server =>
      server.streams.createStream("there", 1)
      val there = s"arn:aws:kinesis:eu-west-1:${SinkRegionsSpec.AccountId}:stream/there"
      val rows  = spark
        .range(0, 10, 1, 1)
        .select(
          concat(lit("row-"), col("id")).as("data"),
          when(col("id") >= 4, there).as("targetStream")
        )
      save(rows, here, s"stream.$there.endpoint" -> server.endpoint.toString)
      Written.texts(here) should have size 4
      server.streams.recordCount("there") shouldBe 6
    }
  }
}

object SinkRegionsSpec {
  private val AccountId = "111111111111"

  private def in(region: String) = KinesisServerConfig(
    region = region,
    accountId = AccountId,
    requireSignature = true,
    accounts = Seq(Account.of(AccountId, AccessKey("test", "test")))
  )
}
