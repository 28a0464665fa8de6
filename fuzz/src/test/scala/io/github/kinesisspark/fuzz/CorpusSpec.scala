package io.github.kinesisspark.fuzz

import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.concurrent.TimeLimits
import org.scalatest.concurrent.Signaler
import org.scalatest.concurrent.ThreadSignaler
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Minutes, Span}

/** Runs every fuzzing target on its seeds, on inputs found by fuzzing, and on mutants of both. */
final class CorpusSpec extends AnyFunSpec with Matchers with TimeLimits {
  implicit private val signaler: Signaler = ThreadSignaler

  /** Of each input; a quarter where the loop asks for one pass only. */
  private val Mutants = if (sys.env.get("SCENARIO_PASSES").contains("once")) 10 else 40

  for (target <- Target.all) describe(s"the corpus of target '${target.name}'") {
    val seeds  = target.seeds.zipWithIndex.map { case (input, n) => s"seed-$n" -> input }
    val inputs = seeds ++ Corpus.inputs(target)

    it("has committed inputs") {
      Corpus.inputs(target) should not be empty
    }

    // The limit is for what hangs; all of it takes seconds.
    it("passes the target's checks") {
      failAfter(Span(5, Minutes)) {
        for ((name, input) <- inputs) withClue(s"$name: ")(noException should be thrownBy target.check(input))
      }
    }

    it("passes the target's checks after its inputs are cut, changed, repeated or grown") {
      failAfter(Span(5, Minutes)) {
        for ((name, input) <- inputs; n <- 0 until Mutants) {
          val mutant = CorpusSpec.mutant(input).pureApply(Gen.Parameters.default, Seed(n.toLong))
          withClue(s"$name, mutant $n (${mutant.map("%02x".format(_)).mkString.take(4000)}): ")(
            noException should be thrownBy target.check(mutant)
          )
        }
      }
    }
  }

  it("a violated property throws Broken with its description") {
    a[Broken] should be thrownBy Broken.unless(1 > 2)("one is not more than two")
  }

  it("a campaign's counts and findings are read from the log of libFuzzer") {
    val log = Vector(
      "INFO: Seed: 2147483648",
      "#2	INITED cov: 10 ft: 10 corp: 1/1b exec/s: 0 rss: 100Mb",
      "== Java Exception: io.github.kinesisspark.fuzz.Broken: lost",
      "#4711	DONE   cov: 868 ft: 2000 corp: 311/9Kb lim: 4096 exec/s: 100 rss: 500Mb"
    )
    val campaign = Campaign.of("offset", scala.concurrent.duration.Duration(1, "s"), log, ended = true)
    (campaign.seed, campaign.executions, campaign.edges, campaign.inputs) shouldBe ((2147483648L, 4711, 868, 311))
    campaign.findings shouldBe Vector("io.github.kinesisspark.fuzz.Broken: lost")
    campaign.isClean shouldBe false
  }
}

object CorpusSpec {
  private val byte = Gen.choose(Byte.MinValue, Byte.MaxValue)

  private def mutant(input: Array[Byte]): Gen[Array[Byte]] = for {
    at    <- Gen.choose(0, input.length)
    until <- Gen.choose(at, input.length)
    bytes <- Gen.listOfN(4, byte)
    times <- Gen.choose(2, 2000)
    made  <- Gen.oneOf(
      input.take(at),
      input.patch(at, bytes, 1),
      input.patch(at, bytes.take(1), 0),
      input.take(at) ++ input.drop(until),
      input.take(until) ++ input.drop(at),
      input.patch(at, Array.fill(times)(bytes.head), 0)
    )
  } yield made
}
