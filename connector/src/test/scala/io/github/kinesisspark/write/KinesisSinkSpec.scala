package io.github.kinesisspark.write

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.write.{DataWriterFactory, LogicalWriteInfo, PhysicalWriteInfo, Write}
import org.apache.spark.sql.types.{BinaryType, StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.SystemProperties
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

  private def factoryOf(options: SinkOptions): DataWriterFactory =
    writeTo(new KinesisSink(Rows, options)).toBatch.createBatchWriterFactory(OneTask)

  /** Writes a row to a stream, whose service refuses it. */
  private def refusedBy(factory: DataWriterFactory, stream: String): KinesisException =
    Using.resource(factory.createWriter(0, 0)) { writer =>
      writer.write(new GenericInternalRow(Array[Any]("a".getBytes(UTF_8), UTF8String.fromString(stream))))
      intercept[KinesisException](writer.commit())
    }

  /** The region that a PutRecords call to the stream is signed for. */
  private def signedRegion(options: SinkOptions, stream: String, server: StubServer): String = {
    refusedBy(factoryOf(options), stream)
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

  describe("a sink without an endpoint among its options") {
    it("calls the one that the driver's machine has, whatever an executor's has") {
      Using.resource(new StubServer((_, _) => StubServer.error(400, "AccessDeniedException"))) { server =>
        def inEnvironment[A](endpoint: String)(work: => A) =
          SystemProperties.within("aws.endpointUrlKinesis" -> endpoint)(work)
        val keys = Map("region" -> "eu-west-1", "accessKeyId" -> "id", "secretAccessKey" -> "secret")
        for (stream <- Seq("orders", "arn:aws:kinesis:eu-west-1:111122223333:stream/orders")) {
          val factory = inEnvironment(server.endpoint.toString)(factoryOf(SinkOptions.parse(keys)))
          val refused = inEnvironment("http://127.0.0.1:1")(refusedBy(factory, stream))
          refused.errorClass shouldBe "KINESIS_ACCESS_DENIED"
        }
      }
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
