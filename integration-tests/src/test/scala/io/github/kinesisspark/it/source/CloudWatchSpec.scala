package io.github.kinesisspark.it.source

import io.github.kinesisspark.aws.StubServer
import io.github.kinesisspark.read.stream.SourceMetrics

/** Metrics of a running query on a stand-in for CloudWatch. */
final class CloudWatchSpec extends TestkitSuite {
  private def withCloudWatch[A](status: Int)(body: StubServer => A): A = {
    val server = new StubServer((_, _) => StubServer.Answer(status))
    try body(server)
    finally server.close()
  }

  private def options(at: StubServer) = Seq(
    "cloudWatch.namespace" -> "kinesis-spark",
    "cloudWatch.interval"  -> "1s",
    "cloudWatch.endpoint"  -> at.endpoint.toString
  )

  it("a query publishes all gauges of its source while it runs, and counts the calls") {
    withCloudWatch(200) { cloudWatch =>
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      put(stream, "c", 10)
      val query = start(stream, checkpoint(), log, options(cloudWatch): _*)
      eventually(log.texts should have size 10)
      eventually(cloudWatch.requests should not be empty)
      eventually(metric(query, "cloudWatchCalls") should be > 0L)
      metric(query, "cloudWatchCallsFailed") shouldBe 0
      query.stop()
      val names = "MetricName=(\\w+)".r.findAllMatchIn(cloudWatch.requests.last.body).map(_.group(1)).toSet
      names shouldBe SourceMetrics.gauges(isFanOut = false, () => SourceMetrics.none).keySet
      cloudWatch.requests.last.body should include(s"Value=${stream.name}")
    }
  }

  it("a query reads on while CloudWatch refuses its metrics, and counts the failures") {
    withCloudWatch(500) { cloudWatch =>
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val query  = start(stream, checkpoint(), log, options(cloudWatch): _*)
      eventually(metric(query, "cloudWatchCallsFailed") should be > 1L)
      val texts = put(stream, "r", 10)
      eventually(log.texts.sorted shouldBe texts.sorted)
      query.exception shouldBe empty
    }
  }

  it("a query publishes nothing unless a namespace is set") {
    val stream = newStream(shards = 1)
    val log    = new BatchLog
    val texts  = put(stream, "o", 10)
    val query  = start(stream, checkpoint(), log)
    eventually(log.texts.sorted shouldBe texts.sorted)
    eventually(metric(query, "cloudWatchCalls") shouldBe 0)
    val failure = intercept[IllegalArgumentException](load(stream, "cloudWatch.interval" -> "1s"))
    failure.getMessage should include("cloudWatch.namespace")
  }
}
