package io.github.kinesisspark.read.shard

import java.io.EOFException
import java.net.ConnectException

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model.InternalFailureException

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.{Fault, FaultClassifier}
import io.github.kinesisspark.config.RetryOptions
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.read.shard.Subscription._

/** A subscription's retries during an outage, with the defaults of `efo.subscribeToShard.*`. */
class SubscriptionOutageSpec extends AnyFunSpec with Matchers {
  private val policy =
    FanOutPublishers.policyOf(RetryOptions(maxRetries = None, 1.second, 2.seconds, factor = 1.5), 15.minutes)
  private val second = 1.second.toNanos

  private def after(n: Long) = AfterSequenceNumber(number(n))

  private def next(s: Subscription, event: Event, now: Long): Subscription =
    step(s, event, policy, Moment(now, 0.5, hasWorked = true))._1

  /** After events, each at its second, from a fresh subscription on. */
  private def at(events: (Long, Event)*): Subscription =
    events.foldLeft(Subscription.at(after(0), 0)) { case (s, (seconds, event)) => next(s, event, seconds * second) }

  /** Fails each call 100 ms after it is made, from `now` to `end`. */
  @tailrec private def failing(s: Subscription, fault: Fault, now: Long, end: Long): Subscription =
    if (now >= end) s
    else
      s.state match {
        case State.Over             => s
        case State.Calling(call, _) =>
          val failed = now + 100.millis.toNanos
          failing(next(s, Event.Failed(call, fault), failed), fault, failed, end)
        case _ =>
          val due = s.dueAt.fold(end)(math.max(_, now))
          failing(next(s, Event.Due, due), fault, due, end)
      }

  describe("a subscription") {
    it("retries after the first failure that follows two minutes without demand") {
      // The first failure comes while there is no demand, the second with the next demand's first call.
      val rested = at(
        0L   -> Event.Asked,
        0L   -> Event.Opened(1),
        1L   -> Event.Arrived(1, after(1)),
        1L   -> Event.Failed(1, Silence),
        200L -> Event.Asked,
        201L -> Event.Failed(2, Silence)
      )
      rested.state shouldBe a[State.Waiting]
    }

    for (
      (cause, failure) <- Seq(
        "HTTP 500"            -> InternalFailureException.builder.build,
        "no connection"       -> new ConnectException("Connection refused"),
        "dropped connections" -> new EOFException
      )
    )
      it(s"still retries after 10 minutes of $cause") {
        val fault = FaultClassifier.classify(failure)
        val begun = at(0L -> Event.Asked, 0L -> Event.Opened(1), 1L -> Event.Arrived(1, after(1)), 1L -> Event.Asked)
        val s     = failing(next(begun, Event.Failed(1, fault), 2 * second), fault, 2 * second, 602 * second)
        s.state should not be State.Over
        s.resume shouldBe after(1)
      }
  }
}
