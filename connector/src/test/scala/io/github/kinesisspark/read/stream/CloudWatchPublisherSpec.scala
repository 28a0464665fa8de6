package io.github.kinesisspark.read.stream

import java.nio.charset.StandardCharsets.UTF_8

import scala.concurrent.duration._
import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.StubServer
import io.github.kinesisspark.config.SourceOptions

class CloudWatchPublisherSpec extends AnyFunSpec with Matchers with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(30.seconds, 5.millis)

  describe("the metrics of a source with several streams") {
    it("have the streams' names as dimension, sorted and joined by +, in whatever order the option has them") {
      Using.Manager { use =>
        val server  = use(new StubServer((_, _) => StubServer.Answer(200, "<PutMetricDataResponse/>".getBytes(UTF_8))))
        val options = Map(
          "streamName"           -> "orders,clicks",
          "region"               -> "eu-west-1",
          "accessKeyId"          -> "id",
          "secretAccessKey"      -> "secret",
          "cloudWatch.namespace" -> "streams",
          "cloudWatch.endpoint"  -> server.endpoint.toString,
          "cloudWatch.interval"  -> "1s"
        )
        val gauges = Map("records" -> (() => 1L))
        CloudWatchPublisher.of(SourceOptions.parse(options), Seq("orders", "clicks"), gauges).foreach(use(_))
        eventually(server.requests should not be empty)
        server.requests.head.body should include("Dimensions.member.1.Value=clicks%2Borders")
      }.get
    }
  }
}
