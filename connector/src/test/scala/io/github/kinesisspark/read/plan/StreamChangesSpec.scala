package io.github.kinesisspark.read.plan

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._

class StreamChangesSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {

  describe("the streams of a checkpoint") {
    it("are found to be kept, removed or recreated by their creation time") {
      forAll(offsets, streamArns, Gen.infiniteLazyList(Gen.oneOf("same", "removed", "recreated"))) {
        (checkpoint, another, fates) =>
          val fate    = checkpoint.streams.keys.zip(fates).toMap
          val reading = checkpoint.streams.collect {
            case (arn, stored) if fate(arn) == "same"      => arn -> stored.createdMillis
            case (arn, stored) if fate(arn) == "recreated" => arn -> (stored.createdMillis + 1)
          }
          val changes = StreamChanges.since(checkpoint, Map(another -> 7L) ++ reading)
          val removed = checkpoint.streams.keySet.filter(arn => fate(arn) == "removed" && arn != another)
          changes.removed shouldBe removed.toVector.sortBy(_.text)
          changes.kept shouldBe checkpoint.copy(streams = checkpoint.streams -- removed)
          changes.recreated.map(_.arn).filterNot(_ == another).toSet shouldBe
            fate.collect { case (arn, "recreated") if arn != another => arn }.toSet
      }
    }
  }
}
