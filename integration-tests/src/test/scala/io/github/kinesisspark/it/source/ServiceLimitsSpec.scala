package io.github.kinesisspark.it.source

import org.scalatest.Suites

import io.github.kinesisspark.testkit.KinesisServerConfig

/** Reads from a server that enforces the service's quotas. */
final class ServiceLimits(override protected val mode: Mode)
    extends TestkitSuite(KinesisServerConfig(enforceLimits = true)) {
  override def suiteName: String = s"Service limits by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  describe("a backlog beyond the largest answer") {
    it("is read at the service's rate, with few refused calls after a 10 MiB answer") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val data   = Array.fill((1 << 20) - 1)('x'.toByte)
      for (_ <- 1 to 12) kinesis.streams.put(stream.name, "k", data)
      running(load(stream), checkpoint())(log.add)(_ => eventually(log.rows.size shouldBe 12))
      log.texts.map(_.length).distinct shouldBe Seq(data.length)
      inOrder(log)
      val read    = if (mode == Mode.Polling) "GetRecords" else "SubscribeToShard"
      val refused = kinesis.calls.recent.count(call => call.action == read && call.error.nonEmpty)
      // After an answer of 10 MB the service refuses the calls of the next 5 s.
      if (mode == Mode.Polling) refused should be <= 20 else refused shouldBe 0
    }
  }
}

class ServiceLimitsSpec extends Suites(Mode.both.map(new ServiceLimits(_)): _*)
