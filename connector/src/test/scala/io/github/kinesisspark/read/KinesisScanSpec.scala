package io.github.kinesisspark.read

import org.apache.spark.sql.types.StructType
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.read.row.SourceSchema

class KinesisScanSpec extends AnyFunSpec with Matchers {
  describe("a streaming read") {
    it("is refused where Spark asks for some of the columns only, as its rows would have all") {
      val options = SourceOptions.parse(Map("streamName" -> "events"))
      val scan    = new KinesisScanBuilder("events", options, () => throw new IllegalStateException("no batch read"))
      scan.pruneColumns(StructType(SourceSchema.schema.drop(1)))
      val refusal = intercept[IllegalArgumentException](scan.build().toMicroBatchStream("checkpoint"))
      refusal.getMessage should include("A streaming query reads all columns")
    }
  }
}
