package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import scala.jdk.CollectionConverters._

/** Tests the calls that say which metrics of its shards a stream has. */
class EnhancedMonitoringSpec extends ServerSpec {
  import Clients._

  private def enable(stream: String, names: String*): EnableEnhancedMonitoringResponse =
    await(kinesis.enableEnhancedMonitoring { (b: EnableEnhancedMonitoringRequest.Builder) =>
      b.streamName(stream).shardLevelMetricsWithStrings(names.asJava); ()
    })

  private def disable(stream: String, names: String*): DisableEnhancedMonitoringResponse =
    await(kinesis.disableEnhancedMonitoring { (b: DisableEnhancedMonitoringRequest.Builder) =>
      b.streamName(stream).shardLevelMetricsWithStrings(names.asJava); ()
    })

  private def shown(stream: String): Seq[String] =
    summary(stream).enhancedMonitoring.asScala.toSeq.flatMap(_.shardLevelMetricsAsStrings.asScala)

  it("metrics are added and removed, and each answer says which there were and will be") {
    val stream = newStream(1)
    val added  = enable(stream, "IncomingBytes", "OutgoingBytes")
    added.currentShardLevelMetricsAsStrings.asScala shouldBe empty
    added.desiredShardLevelMetricsAsStrings.asScala shouldBe Seq("IncomingBytes", "OutgoingBytes")
    added.streamName shouldBe stream
    shown(stream) shouldBe Seq("IncomingBytes", "OutgoingBytes")
    val removed = disable(stream, "IncomingBytes", "IncomingRecords")
    removed.currentShardLevelMetricsAsStrings.asScala shouldBe Seq("IncomingBytes", "OutgoingBytes")
    removed.desiredShardLevelMetricsAsStrings.asScala shouldBe Seq("OutgoingBytes")
    shown(stream) shouldBe Seq("OutgoingBytes")
  }

  it("ALL stands for the seven metrics") {
    val stream = newStream(1)
    enable(stream, "ALL").desiredShardLevelMetricsAsStrings should have size 7
    disable(stream, "ALL").desiredShardLevelMetricsAsStrings.asScala shouldBe empty
  }

  it("an unknown metric, no metric, and a stream that doesn't exist are refused") {
    val stream = newStream(1)
    codeOf(enable(stream, "Everything")) shouldBe "ValidationException"
    codeOf(enable(stream)) shouldBe "ValidationException"
    codeOf(disable("nobody", "ALL")) shouldBe "ResourceNotFoundException"
  }
}
