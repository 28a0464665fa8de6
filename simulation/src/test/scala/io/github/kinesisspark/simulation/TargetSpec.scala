package io.github.kinesisspark.simulation

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aggregation.{AggregatedRecord, UserRecord}
import io.github.kinesisspark.position.HashKey

/** The stream that queries write to. */
class TargetSpec extends AnyFunSpec with Matchers {
  private def target = new Target(
    new Kinesis(new Baton(1, new Trace), World.Epoch, Target.StreamName, 2, Kinesis.Settings(), new Kinesis.Faults),
    recordsPerSecond = 2
  )

  private def user(data: String, hashKey: BigInt) = UserRecord(data.getBytes, "key", Some(hashKey))

  describe("an aggregated record") {
    it("stores the rows with keys of its shard, each by itself, and takes one record of the shard's limit") {
      val its    = target
      val record = new AggregatedRecord[UserRecord]
      Seq(user("a", 0), user("b", 1), user("c", HashKey.Last)).foreach(record.add(_))
      def put() = its.put(0, record.payload)
      Seq(put(), put(), put()).map(_.isDefined) shouldBe Seq(true, true, false)
      Seq("a", "b", "c").map(its.stored) shouldBe
        Seq(Some(Target.Copy(1, Vector(2))), Some(Target.Copy(2, Vector(2))), None)
    }
  }
}
