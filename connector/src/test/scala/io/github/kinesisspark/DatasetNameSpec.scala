package io.github.kinesisspark

import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import scala.jdk.CollectionConverters._

import io.github.kinesisspark.read.row.SourceSchema

class DatasetNameSpec extends AnyFunSpec with Matchers {
  private def properties(schema: StructType, options: (String, String)*) =
    new KinesisTableProvider()
      .getTable(schema, Array.empty, new CaseInsensitiveStringMap(options.toMap.asJava))
      .properties
      .asScala

  private val rows = new StructType().add("data", StringType)

  describe("the dataset's name for lineage") {
    it("is the service's host in the region and the stream, for the source and the sink") {
      val expected = Map(
        "openlineage.dataset.namespace" -> "kinesis://kinesis.eu-west-1.amazonaws.com",
        "openlineage.dataset.name"      -> "orders"
      )
      for (schema <- Seq(SourceSchema.schema, rows)) {
        properties(schema, "streamName" -> "orders", "region" -> "eu-west-1") shouldBe expected
        properties(schema, "streamArn" -> "arn:aws:kinesis:eu-west-1:111122223333:stream/orders") shouldBe expected
      }
    }

    it("is the host of the region's partition") {
      properties(rows, "streamArn" -> "arn:aws-cn:kinesis:cn-north-1:111122223333:stream/orders")(
        "openlineage.dataset.namespace"
      ) shouldBe "kinesis://kinesis.cn-north-1.amazonaws.com.cn"
    }

    it("has the endpoint that is given") {
      properties(rows, "streamName" -> "orders", "region" -> "eu-west-1", "endpoint" -> "http://127.0.0.1:4567")(
        "openlineage.dataset.namespace"
      ) shouldBe "kinesis://127.0.0.1:4567"
    }

    it("is missing for several streams, and for a sink whose rows name their own") {
      properties(SourceSchema.schema, "streamName" -> "orders,refunds", "region" -> "eu-west-1") shouldBe empty
      properties(rows.add("targetStream", StringType), "region" -> "eu-west-1") shouldBe empty
    }
  }
}
