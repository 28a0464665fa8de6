package io.github.kinesisspark.aws

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import scala.concurrent.duration._

class BackoffTest extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val backoffs = for {
    base   <- Gen.choose(1L, 10_000L)
    max    <- Gen.choose(base, 100_000L)
    factor <- Gen.choose(1.0, 4.0)
  } yield Backoff(base.millis, max.millis, factor)

  test("waits are at most the cap, and the cap grows from base to max") {
    forAll(backoffs, Gen.choose(1, 10_000), Gen.choose(0.0, 0.999999)) { (backoff, attempt, chance) =>
      val wait = backoff.delay(attempt, chance)
      assert(wait >= Duration.Zero && wait <= backoff.ceiling(attempt))
      assert(backoff.ceiling(attempt) <= backoff.ceiling(attempt + 1))
      assert(backoff.ceiling(attempt) <= backoff.max)
      assert(backoff.ceiling(1) == backoff.base)
    }
  }

  test("full jitter spreads the wait from zero to the cap") {
    val backoff = Backoff(100.millis, 10.seconds)
    assert(backoff.delay(3, 0.0) == Duration.Zero)
    assert(backoff.delay(3, 0.5) == 200.millis)
    assert(backoff.ceiling(20) == 10.seconds)
  }
}
