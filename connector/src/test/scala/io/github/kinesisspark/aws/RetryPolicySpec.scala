package io.github.kinesisspark.aws

import java.net.UnknownHostException

import scala.concurrent.duration._

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.aws.RetryPolicy.Slowdown

/** The one decision about retries, by fault, history and experience. */
class RetryPolicySpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val policy = RetryPolicy(Backoff(250.millis, 5.seconds), 15.minutes)

  private val unavailable = FaultClassifier.classify(InternalFailureException.builder.build)
  private val throttled   = FaultClassifier.classify(ProvisionedThroughputExceededException.builder.build)
  private val inUse       = FaultClassifier.classify(ResourceInUseException.builder.build)
  private val notFound    = FaultClassifier.classify(ResourceNotFoundException.builder.build)
  private val denied      = FaultClassifier.classify(AccessDeniedException.builder.build)
  private val unknownHost = FaultClassifier.classify(new UnknownHostException("kinesis"))
  private val lost        = FaultClassifier.classify(new java.io.EOFException)

  /** Fails every `interval` until the policy gives up or `length` has passed; gives the time of the last attempt. */
  private def lasts(
      policy: RetryPolicy,
      fault: Fault,
      hasWorked: Boolean = true,
      interval: FiniteDuration = 5.seconds,
      length: FiniteDuration = 1.hour
  ): FiniteDuration = {
    @annotation.tailrec
    def fail(history: RetryHistory, at: FiniteDuration): FiniteDuration =
      policy.decide(fault, history, hasWorked, at.toNanos, 0.5) match {
        case RetryDecision.Retry(_, failed) if at < length => fail(failed, at + interval)
        case _                                             => at
      }
    fail(RetryHistory.none, Duration.Zero)
  }

  describe("a fault that passes by itself") {
    it("is retried until maxRetryDuration has passed since the first failure") {
      for (fault <- Seq(unavailable, lost, throttled, inUse))
        lasts(policy, fault) should (be > 14.minutes and be <= 15.minutes + 5.seconds)
    }

    it("is retried at most maxRetries times in a row, unless it is a lost connection") {
      val counted = policy.copy(maxRetries = Some(3))
      lasts(counted, unavailable) shouldBe 15.seconds
      lasts(counted, lost) should be > 14.minutes
    }

    it("is retried without end if it is the service's way to slow callers down") {
      val endless = policy.copy(endless = Set(Slowdown.Throttling, Slowdown.ResourceInUse))
      lasts(endless, throttled) shouldBe 1.hour
      lasts(endless, inUse) shouldBe 1.hour
      lasts(endless, unavailable) should be < 16.minutes
    }
  }

  describe("a fault that looks like a mistake") {
    it("is retried five times before anything has worked") {
      lasts(policy, unknownHost, hasWorked = false) shouldBe 25.seconds
    }

    it("is retried until maxRetryDuration has passed once the client has worked") {
      lasts(policy, unknownHost) should be > 14.minutes
    }
  }

  describe("a fault that cannot pass") {
    it("is never retried") {
      lasts(policy, denied) shouldBe Duration.Zero
      lasts(policy, notFound) shouldBe Duration.Zero
    }

    it("is retried a few times if it is a consumer that may not be known everywhere yet") {
      lasts(policy.copy(notFoundRetries = 5), notFound) shouldBe 25.seconds
    }

    it("is retried a few times if it is a stream that may be new, and no more than maxRetries times") {
      lasts(policy.retryingNotFound, notFound) shouldBe 25.seconds
      lasts(policy.copy(maxRetries = Some(2)).retryingNotFound, notFound) shouldBe 10.seconds
      lasts(policy.copy(maxRetries = Some(9)).retryingNotFound, notFound) shouldBe 25.seconds
    }
  }

  describe("the history of a call") {
    it("forgets the time of a rest, so that one failure after it is retried") {
      val RetryDecision.Retry(_, failed) =
        policy.decide(unavailable, RetryHistory.none, hasWorked = true, 0, 0.5): @unchecked
      policy.decide(unavailable, failed, hasWorked = true, 1.hour.toNanos, 0.5) shouldBe a[RetryDecision.GiveUp]
      policy.decide(unavailable, failed.rested, hasWorked = true, 1.hour.toNanos, 0.5) shouldBe a[RetryDecision.Retry]
    }
  }

  describe("the wait before a retry") {
    it("grows with the failures in a row up to the maximum, with full jitter") {
      forAll(Gen.choose(0, 200), Gen.choose(0.0, 0.999)) { (failures, chance) =>
        val history                      = RetryHistory(failures, 0, 0, None)
        val RetryDecision.Retry(wait, _) = policy.decide(unavailable, history, hasWorked = true, 0, chance): @unchecked
        wait should be <= policy.backoff.ceiling(failures + 1)
        wait should be < 5.seconds
      }
    }
  }
}
