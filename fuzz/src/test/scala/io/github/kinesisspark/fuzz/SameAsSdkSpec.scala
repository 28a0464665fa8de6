package io.github.kinesisspark.fuzz

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** The connector's decoders beside the SDK's: what they must take, because Kinesis sends it. */
final class SameAsSdkSpec extends AnyFunSpec with Matchers {
  for (target <- Seq(CborAnswers, JsonAnswers))
    it(s"each seed of target '${target.name}' is decoded without the SDK, and as the SDK does it") {
      for ((seed, n) <- target.seeds.zipWithIndex; isFull <- Seq(false, true))
        withClue(s"seed $n: ")(target.check(seed, isFull) shouldBe true)
    }
}
