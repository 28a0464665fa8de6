package io.github.kinesisspark.write

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, PhysicalWriteInfo, Write}
import org.apache.spark.sql.types.{BinaryType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{AwsHome, KinesisException, Regions, StubServer}
import io.github.kinesisspark.config.{SinkOptions, StreamRef}
import io.github.kinesisspark.write.send.Totals

class KinesisSinkSpec extends AnyFunSpec with Matchers {
  private val Rows = new StructType().add("data", BinaryType).add("targetStream", StringType)

  private object OneTask extends PhysicalWriteInfo {
    override def numPartitions(): Int = 1
  }

  private def writeTo(sink: KinesisSink): Write = sink
    .newWriteBuilder(new LogicalWriteInfo {
      override def options(): CaseInsensitiveStringMap = CaseInsensitiveStringMap.empty
      override def queryId(): String                   = "query"
      override def schema(): StructType                = Rows
    })
    .build()

  /** The region that a PutRecords call to the stream is signed for. */
  private def signedRegion(options: SinkOptions, stream: String, server: StubServer): String = {
    val factory = writeTo(new KinesisSink(Rows, options)).toBatch.createBatchWriterFactory(OneTask)
    Using.resource(factory.createWriter(0, 0)) { writer =>
      writer.write(new GenericInternalRow(Array[Any]("a".getBytes(UTF_8), UTF8String.fromString(stream))))
      intercept[KinesisException](writer.commit())
    }
    val signature = server.requests.last.headers("authorization")
    signature.split('/').lift(2).getOrElse(signature)
  }

  describe("a sink of a streaming query") {
    it("says to tasks that an earlier batch has written, so that failures to connect are retried") {
      val sink       = new KinesisSink(Rows, SinkOptions.parse(Map("streamName" -> "orders", "region" -> "eu-west-1")))
      def hasWritten = writeTo(sink).toStreaming.createStreamingWriterFactory(OneTask) match {
        case factory: KinesisWriterFactory => factory.hasWritten
        case other                         => fail(other.toString)
      }
      hasWritten shouldBe false
      writeTo(sink).toStreaming.commit(0, Array(SinkCounts.none))
      hasWritten shouldBe false
      writeTo(sink).toStreaming.commit(1, Array(SinkCounts.none.copy(sent = Totals(records = 1))))
      hasWritten shouldBe true
    }
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
