package io.github.kinesisspark.read.reader

import java.io.EOFException
import java.net.ConnectException
import java.util.concurrent.TimeoutException

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.scalacheck.{Gen, Shrink}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import software.amazon.awssdk.services.kinesis.model.{
  AccessDeniedException,
  InternalFailureException,
  ResourceInUseException
}

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aws.{Backoff, Fault, FaultClassifier, RetryHistory, RetryPolicy}
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.read.reader.Subscription._

class SubscriptionSpec extends AnyFunSpec with Matchers with AfterNumbers with ScalaCheckPropertyChecks {
  private val policy = RetryPolicy(
    Backoff(1.second, 1.minute),
    maxDuration = 2.minutes,
    maxRetries = Some(3),
    endless = Set(RetryPolicy.Slowdown.Throttling, RetryPolicy.Slowdown.ResourceInUse)
  )
  private val busy    = FaultClassifier.classify(ResourceInUseException.builder.build)
  private val counted = FaultClassifier.classify(InternalFailureException.builder.build)
  private val denied  = FaultClassifier.classify(AccessDeniedException.builder.build)

  private def moment(seconds: Long, hasWorked: Boolean = true, isNamed: Boolean = true) =
    Moment(seconds * second, 1.0, hasWorked, _ => isNamed)
  private val second = 1.second.toNanos

  /** Runs events from a fresh subscription, each at its second; gives the last step. */
  private def run(events: (Long, Event)*): Step = {
    val start: Step = (Subscription.at(after(0), 0), Vector.empty)
    events.foldLeft(start) { case ((s, _), (at, event)) => step(s, event, policy, moment(at)) }
  }

  private val live  = Seq(0L -> Event.Asked, 0L -> Event.Opened(1))
  private val moved = live :+ (1L -> Event.Arrived(1, after(5)))

  describe("a subscription") {
    it("subscribes on the first demand and requests one event once open") {
      run(0L -> Event.Asked)._2 should contain(Command.Subscribe(1, after(0)))
      run(live: _*)._2 should contain(Command.RequestOne)
    }

    it("resumes after the last event when its five minutes are over") {
      val (_, commands) = run(moved ++ Seq(2L -> Event.Asked, 300L -> Event.Completed(1)): _*)
      commands should contain(Command.Subscribe(2, after(5)))
    }

    it("is not renewed while there is no demand") {
      val (rested, commands) = run(moved :+ (300L -> Event.Completed(1)): _*)
      rested.state shouldBe State.Resting
      commands.collect { case c: Command.Subscribe => c } shouldBe empty
    }

    it("counts no failure when its connection ends while there is no demand, and subscribes on the next one") {
      val timedOut    = FaultClassifier.classify(new TimeoutException)
      val (rested, _) = run(moved :+ (360L -> Event.Failed(1, timedOut)): _*)
      rested.state shouldBe State.Resting
      rested.history.failures shouldBe 0
      run(moved ++ Seq(360L -> Event.Failed(1, timedOut), 420L -> Event.Asked): _*)._2 should contain(
        Command.Subscribe(2, after(5))
      )
      run(moved ++ Seq(2L -> Event.Asked, 360L -> Event.Failed(1, timedOut)): _*)._1.history.failures shouldBe 1
    }

    it("ends with its shard and is not opened again") {
      val (ended, commands) = run(live ++ Seq(1L -> Event.Arrived(1, ShardEnd)): _*)
      commands shouldBe Vector(Command.Deliver, Command.Cancel)
      step(ended, Event.Asked, policy, moment(400))._2 shouldBe empty
    }

    it("that receives no event for 35 s is cancelled and reopened") {
      val silent = live :+ (35L -> Event.Due)
      run(silent: _*)._2 shouldBe Vector(Command.Cancel)
      run(silent :+ (36L -> Event.Due): _*)._2 shouldBe Vector(Command.Subscribe(2, after(0)))
    }

    it("is not silent while parts of an event arrive") {
      val arrivingPart = Event.Arriving(1, waits = false)
      val arriving     = live ++ Seq(34L -> arrivingPart, 35L -> Event.Due, 60L -> arrivingPart, 94L -> Event.Due)
      run(arriving: _*)._2 shouldBe empty
      run(arriving :+ (95L -> Event.Due): _*)._2 shouldBe Vector(Command.Cancel)
      run(moved :+ (60L -> arrivingPart): _*)._1.dueAt shouldBe None
    }

    it("is cancelled when an event drips in for more than 5 minutes, unless the event waits for memory") {
      def dripping(waits: Boolean) = live ++ (1 to 31).map(i => 10L * i -> Event.Arriving(1, waits))
      run(dripping(waits = false): _*)._2 shouldBe Vector(Command.Cancel)
      run(dripping(waits = true): _*)._2 shouldBe empty
      // An event that has come whole begins the time anew.
      val complete = (1 to 60).flatMap { i =>
        Seq(
          10L * i -> Event.Arriving(1, waits = false),
          10L * i -> Event.Arrived(1, after(i.toLong)),
          10L * i -> Event.Asked
        )
      }
      run(live ++ complete: _*)._2 shouldBe Vector(Command.RequestOne)
    }

    it("is renewed without counting a failure when it ends while its first event waits for memory, however often") {
      val ends = Seq.tabulate(50) { i =>
        val call = i + 1L
        Seq(
          400L * i       -> Event.Opened(call),
          400L * i + 300 -> Event.Arriving(call, waits = true),
          400L * i + 300 -> Event.Completed(call)
        )
      }
      val (s, commands) = run((0L -> Event.Asked) +: ends.flatten: _*)
      commands shouldBe Vector(Command.Cancel, Command.Subscribe(51, after(0)))
      s.history shouldBe RetryHistory.none
    }

    it("fails the reader after it has stayed silent for longer than maxRetryDuration") {
      val silences = Seq.iterate(0L, 5)(_ + 100).flatMap { at =>
        Seq(at -> Event.Due, at -> Event.Opened(at / 100 + 1), at + 35 -> Event.Due)
      }
      val (s, commands) = run((0L -> Event.Asked) +: silences: _*)
      s.state shouldBe State.Over
      run((0L -> Event.Asked) +: silences.take(6): _*)._1.state shouldBe a[State.Waiting]
      commands shouldBe empty
    }

    it("ignores silence while there is no demand") {
      run(moved :+ (4000L -> Event.Due): _*)._2 shouldBe empty
    }

    it("is retried without limit while another subscription holds the shard") {
      val refusals =
        Seq.tabulate(50)(i => Seq(100L * i -> Event.Due, 100L * i + 1 -> Event.Failed(i + 1L, busy))).flatten
      val (s, _) = run((0L -> Event.Asked) +: refusals: _*)
      s.state shouldBe a[State.Waiting]
    }

    it("fails the reader after more counted failures than the configured retries") {
      def failures(n: Int) = (0L -> Event.Asked) +:
        Seq
          .tabulate(n)(i => Seq(20L * i -> Event.Due, 20L * i + 1 -> Event.Failed(i + 1L, counted)))
          .flatten
      run(failures(3): _*)._1.state shouldBe a[State.Waiting]
      run(failures(4): _*)._2 should contain(Command.GiveUp(Failure.Call(counted)))
    }

    it("clears its failures on the first event, and not on an opened call") {
      val failed =
        Seq(0L -> Event.Asked, 1L -> Event.Failed(1, counted), 100L -> Event.Due, 101L -> Event.Opened(2))
      run(failed: _*)._1.history.counted shouldBe 1
      run(failed :+ (102L -> Event.Arrived(2, after(1))): _*)._1.history shouldBe RetryHistory.none
    }

    // The shard is won and, so many seconds later, lost to another subscriber; which is taken back from it, again and again.
    def losses(first: Long, times: Int) = (0L -> Event.Asked) +: Seq
      .tabulate(times) { i =>
        val at = 100L * i
        Seq(
          at         -> Event.Due,
          at         -> Event.Opened(i + 1L),
          at + 1     -> Event.Arrived(i + 1L, after(i + 1L)),
          at + 1     -> Event.Asked,
          at + first -> Event.Failed(i + 1L, busy)
        )
      }
      .flatten

    it("yields the shard to the earlier consumer after repeated takeovers") {
      run(losses(first = 6, times = 2): _*)._1.state shouldBe a[State.Waiting]
      run(losses(first = 6, times = 3): _*)._2 should contain(Command.GiveUp(Failure.Contended))
    }

    it("that has held the shard for a while is no longer the newcomer after a takeover") {
      val kept = losses(first = 6, times = 2) ++ Seq(
        300L -> Event.Due,
        300L -> Event.Opened(3),
        320L -> Event.Failed(3, busy)
      )
      run(kept: _*)._1.contention shouldBe ConsumerContention(None, 1, newcomer = false)
    }

    it("holds the shard across renewals") {
      val renewed = live ++ Seq(
        1L  -> Event.Arrived(1, after(1)),
        14L -> Event.Asked,
        14L -> Event.Completed(1),
        14L -> Event.Opened(2),
        16L -> Event.Failed(2, busy)
      )
      run(renewed: _*)._1.contention shouldBe ConsumerContention(None, 1, newcomer = false)
    }

    it("retakes an idle shard as soon as a busy one, though no event comes before it is lost again") {
      val idle  = losses(first = 6, times = 2).filterNot(_._2.isInstanceOf[Event.Arrived])
      val waits = run(idle: _*)._1.state
      waits shouldBe run(losses(first = 6, times = 2): _*)._1.state
      waits shouldBe State.Waiting(107 * second)
    }

    it("retakes the shard without limit if it held it first") {
      run(losses(first = 20, times = 30): _*)._1.state shouldBe a[State.Waiting]
    }

    for (
      (what, displaced) <- Seq(
        "its place was taken"          -> (moved ++ Seq(2L -> Event.Asked, 20L -> Event.Failed(1, busy))),
        "its call was refused a place" -> Seq(0L -> Event.Asked, 20L -> Event.Failed(1, busy))
      )
    )
      it(s"is opened again after $what once the driver has named its reader since") {
        def due(s: Subscription, at: Long, isNamed: Boolean) =
          step(s, Event.Due, policy, moment(at, isNamed = isNamed))
        val (waits, commands) = due(run(displaced: _*)._1, at = 100, isNamed = false)
        commands shouldBe empty
        waits.state shouldBe State.Waiting(100 * second + 250.millis.toNanos)
        due(waits, at = 1000, isNamed = false)._2 shouldBe empty
        val (called, calls) = due(waits, at = 101, isNamed = true)
        calls shouldBe Vector(Command.Subscribe(2, called.resume))
        // Other failures have nothing to do with who reads the shard.
        val failed = step(called, Event.Failed(2, counted), policy, moment(102, isNamed = false))._1
        due(failed, at = 200, isNamed = false)._2 should contain(Command.Subscribe(3, called.resume))
      }

    it("waits at least one second between two calls") {
      val (s, commands) = run(Seq(0L -> Event.Asked, 0L -> Event.Failed(1, counted)): _*)
      s.state shouldBe State.Waiting(second)
      s.dueAt shouldBe Some(second)
      commands shouldBe Vector(Command.Cancel)
    }

    it("fails the reader at once if another attempt cannot help") {
      run(0L -> Event.Asked, 1L -> Event.Failed(1, denied))._2 should contain(Command.GiveUp(Failure.Call(denied)))
    }

    it("is retried for maxRetryDuration if maxRetries is left out") {
      val patient              = policy.copy(maxRetries = None)
      def after(failures: Int) = (0 until failures).foldLeft(run(0L -> Event.Asked)._1) { (s, i) =>
        val called = step(s, Event.Due, patient, moment(65L * i))._1
        step(called, Event.Failed(called.calls, counted), patient, moment(65L * i + 1))._1
      }
      after(2).state shouldBe a[State.Waiting]
      after(3).state shouldBe State.Over
    }

    it("retries after the first failure that follows a rest longer than maxRetryDuration") {
      val rested = Seq(
        0L   -> Event.Asked,
        0L   -> Event.Opened(1),
        0L   -> Event.Arrived(1, after(1)),
        1L   -> Event.Failed(1, Silence),
        200L -> Event.Asked,
        201L -> Event.Failed(2, Silence)
      )
      run(rested: _*)._1.state shouldBe a[State.Waiting]
    }
  }

  describe("a subscription with the default options") {
    val defaults = FanOutRecordPublisher.policyOf(CallRetries.default)

    def next(s: Subscription, event: Event, now: Long) =
      step(s, event, defaults, Moment(now, 0.5, hasWorked = true, _ => true))._1

    /** Fails each call 100 ms after it is made, from `now` to `end`. */
    @tailrec def failing(s: Subscription, fault: Fault, now: Long, end: Long): Subscription =
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

    for (
      (cause, failure) <- Seq(
        "HTTP 500"            -> InternalFailureException.builder.build,
        "no connection"       -> new ConnectException("Connection refused"),
        "dropped connections" -> new EOFException
      )
    )
      it(s"still retries after 10 minutes of $cause") {
        val fault = FaultClassifier.classify(failure)
        val begun = run(moved :+ (1L -> Event.Asked): _*)._1
        val s     = failing(next(begun, Event.Failed(1, fault), 2 * second), fault, 2 * second, 602 * second)
        s.state should not be State.Over
        s.resume shouldBe after(5)
      }
  }

  describe("a subscription over random events") {
    // Calls of the past, the present and the future; the machine must know which is which.
    val anyCall = Gen.choose(1L, 6L)
    val faults  = Gen.oneOf(busy, Silence, counted, denied)
    val events  = Gen.frequency[Event](
      6 -> Gen.const(Event.Asked),
      4 -> anyCall.map(Event.Opened(_)),
      6 -> Gen.zip(anyCall, Gen.choose(1L, 1000L)).map { case (c, n) => Event.Arrived(c, after(n)) },
      1 -> anyCall.map(Event.Arrived(_, ShardEnd)),
      1 -> anyCall.map(Event.Arriving(_, waits = false)),
      3 -> anyCall.map(Event.Completed(_)),
      4 -> Gen.zip(anyCall, faults).map { case (c, s) =>
        Event.Failed(c, s)
      },
      5 -> Gen.const(Event.Due)
    )
    val histories                                      = Gen.listOfN(40, Gen.zip(Gen.choose(0L, 40L), events))
    implicit val noShrink: Shrink[List[(Long, Event)]] = Shrink.shrinkAny

    it("keeps at most one open call, loses no demand, and takes positions from the current call only") {
      forAll(histories, minSuccessful(10000)) { history =>
        var s       = Subscription.at(after(0), 0)
        var now     = 0L
        var open    = Set.empty[Long]
        var asked   = false
        var resumes = s.resume
        history.foreach { case (seconds, event) =>
          now += seconds * second
          val before           = s
          val (next, commands) =
            step(s, event, policy, Moment(now, 0.5, hasWorked = true, displacedAt => (now - displacedAt) % 3 == 0))
          event match {
            case Event.Asked if s.state != State.Over => asked = true
            case Event.Completed(call)                => open -= call
            case Event.Failed(call, _)                => open -= call
            case _                                    => ()
          }
          commands.foreach {
            case Command.Subscribe(call, from) =>
              open += call
              from shouldBe next.resume
            case Command.Cancel  => open = Set.empty
            case Command.Deliver =>
              asked shouldBe true
              asked = false
              event shouldBe a[Event.Arrived]
            case Command.GiveUp(_)  => asked = false
            case Command.RequestOne => open should not be empty
          }
          open.size should be <= 1
          if (next.resume != before.resume) {
            commands should contain(Command.Deliver)
            resumes = next.resume
          }
          // Somebody waits: then the machine does something by itself at some moment. Nobody waits: then it needs no timer.
          withClue(s"after $event in ${before.state}: ")(next.dueAt.isDefined shouldBe asked)
          s = next
        }
        s.resume shouldBe resumes
      }
    }
  }
}
