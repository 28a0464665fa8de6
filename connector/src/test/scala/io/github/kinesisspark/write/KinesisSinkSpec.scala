package io.github.kinesisspark.write

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, PhysicalWriteInfo}
import org.apache.spark.sql.types.{BinaryType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{AwsHome, KinesisException, Regions, StubServer}
import io.github.kinesisspark.config.{SinkOptions, StreamRef}

class KinesisSinkSpec extends AnyFunSpec with Matchers {
  private val Rows = new StructType().add("data", BinaryType).add("targetStream", StringType)

  /** The region that a PutRecords call to the stream is signed for. */
  private def signedRegion(options: SinkOptions, stream: String, server: StubServer): String = {
    val write = new KinesisSink(Rows, options).newWriteBuilder(new LogicalWriteInfo {
      override def options(): CaseInsensitiveStringMap = CaseInsensitiveStringMap.empty
      override def queryId(): String                   = "query"
      override def schema(): StructType                = Rows
    })
    val factory = write
      .build()
      .toBatch
      .createBatchWriterFactory(new PhysicalWriteInfo {
        override def numPartitions(): Int = 1
      })
    Using.resource(factory.createWriter(0, 0)) { writer =>
      writer.write(new GenericInternalRow(Array[Any]("a".getBytes(UTF_8), UTF8String.fromString(stream))))
      intercept[KinesisException](writer.commit())
    }
    val signature = server.requests.last.headers("authorization")
    signature.split('/').lift(2).getOrElse(signature)
  }

  describe("a sink without a region among its options") {
    it("calls each stream in the region of the stream's profile") {
      Using.resource(new StubServer((_, _) => StubServer.error(400, "AccessDeniedException"))) { server =>
        Using.resource(new AwsHome(new URI("http://127.0.0.1:1"))) { home =>
          def profile(name: String, region: String) = home.keys(name, "id", "secret", "token", s"region = $region")
          val options                               = SinkOptions.parse(
            Map(
              "endpoint"                -> server.endpoint.toString,
              "profile"                 -> profile("sink-east", "eu-west-1"),
              "stream.payments.profile" -> profile("sink-west", "us-west-2")
            )
          )
          for ((stream, region) <- Seq("orders" -> "eu-west-1", "payments" -> "us-west-2")) {
            val ref = StreamRef.ByName(stream)
            Regions.resolve(ref, options.clientOf(ref)) shouldBe region
            signedRegion(options, stream, server) shouldBe region
          }
        }
      }
    }
  }
}
