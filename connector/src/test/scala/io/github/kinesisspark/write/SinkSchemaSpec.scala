package io.github.kinesisspark.write

import org.apache.spark.sql.types.StructType
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.config.StreamRef

class SinkSchemaSpec extends AnyFunSpec with Matchers {
  private val orders = Some(StreamRef.ByName("orders"))

  private def problems(ddl: String, stream: Option[StreamRef] = orders): Seq[String] =
    intercept[SinkSchemaException](SinkSchema.columnsOf(StructType.fromDDL(ddl), stream)).problems

  describe("the columns of a sink") {
    it("are found by name, whatever their order and case") {
      SinkSchema.columnsOf(StructType.fromDDL("TargetStream string, partitionKey string, DATA binary"), None) shouldBe
        SinkColumns(2, isText = false, partitionKey = Some(1), explicitHashKey = None, targetStream = Some(0))
    }

    it("don't include a source's streamName: it is refused with the column to use instead") {
      val found = problems("data binary, partitionKey string, streamName string")
      found should have size 1
      found.head should (include("'streamName' names the stream that a row was read from") and include(
        "'targetStream'"
      ))
    }

    it("don't include streamName if no option names a stream either") {
      problems("data binary, streamName string", None).mkString(" ") should include(
        "give the rows a column 'targetStream'"
      )
    }
  }
}
