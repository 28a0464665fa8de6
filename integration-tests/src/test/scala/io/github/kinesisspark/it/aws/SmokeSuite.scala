package io.github.kinesisspark.it.aws

import org.scalatest.DoNotDiscover

import io.github.kinesisspark.it.KinesisTarget
import io.github.kinesisspark.it.source.{BatchLog, Mode, SourceSuite}

/** The cheapest run against AWS: one stream, written and read once. `make test-aws SUITES=smoke` tries credentials, permissions and
  * the clean-up with it.
  */
@DoNotDiscover
final class SmokeSuite extends SourceSuite(KinesisTarget.Aws.service) {
  override protected def mode: Mode = Mode.FanOut

  describe("a query by fan-out") {
    it("reads every record of a stream once") {
      val stream  = newStream(shards = 2)
      val records = put(stream, "smoke", 100)
      val log     = new BatchLog
      running(load(stream), checkpoint())(log.add)(_ => eventually(log.texts.sorted shouldBe records.sorted))
    }
  }
}
