package io.github.kinesisspark.read.shard

import scala.concurrent.duration._

import org.scalacheck.{Gen, Shrink}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.read.shard.Subscription._

class SubscriptionSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val policy = Policy(60.seconds, 35.seconds, 1.second, 3, (n, random) => (n + 1).seconds * (1 + random).toLong)
  private def after(n: Long) = AfterSequenceNumber(number(n))
  private val second         = 1.second.toNanos

  /** Runs events from a fresh subscription, each at its second; gives the last step. */
  private def run(events: (Long, Event)*): Step = {
    val start: Step = (Subscription.at(after(0), 0), Vector.empty)
    events.foldLeft(start) { case ((s, _), (at, event)) => step(s, event, policy, at * second, 0) }
  }

  private val live  = Seq(0L -> Event.Asked, 0L -> Event.Opened(1))
  private val moved = live :+ (1L -> Event.Arrived(1, after(5)))

  describe("a subscription") {
    it("is made when somebody asks, and asks for one event when it is opened") {
      run(0L -> Event.Asked)._2 should contain(Command.Subscribe(1, after(0)))
      run(live: _*)._2 should contain(Command.RequestOne(1))
    }

    it("goes on from the last event's continuation when its five minutes are over") {
      val (_, commands) = run(moved ++ Seq(2L -> Event.Asked, 300L -> Event.Completed(1)): _*)
      commands should contain(Command.Subscribe(2, after(5)))
    }

    it("is not made again while nobody asks") {
      val (rested, commands) = run(moved :+ (300L -> Event.Completed(1)): _*)
      rested.state shouldBe State.Resting
      commands.collect { case c: Command.Subscribe => c } shouldBe empty
    }

    it("ends with the shard, and never begins again") {
      val (ended, commands) = run(live ++ Seq(1L -> Event.Arrived(1, ShardEnd)): _*)
      commands shouldBe Vector(Command.Deliver, Command.Cancel(1))
      step(ended, Event.Asked, policy, 400 * second, 0)._2 shouldBe empty
    }

    it("is given up for another when an event that was asked for does not come") {
      val (s, commands) = run(live :+ (35L -> Event.Woken): _*)
      commands should (contain(Command.Cancel(1)) and contain(Command.Subscribe(2, after(0))))
      s.counted shouldBe 0
    }

    it("may be silent as long as it likes while nothing is asked of it") {
      run(moved :+ (4000L -> Event.Woken): _*)._2 shouldBe empty
    }

    it("is tried for ever while another one holds the shard") {
      val busy =
        Seq.tabulate(50)(i => Seq(100L * i -> Event.Woken, 100L * i + 1 -> Event.Failed(i + 1L, Setback.Busy))).flatten
      val (s, _) = run((0L -> Event.Asked) +: busy: _*)
      s.state shouldBe a[State.Waiting]
    }

    it("is given up when what counts fails more often than the retries allow, and not before") {
      def failures(n: Int) = (0L -> Event.Asked) +:
        Seq
          .tabulate(n)(i => Seq(100L * i -> Event.Woken, 100L * i + 1 -> Event.Failed(i + 1L, Setback.Counted)))
          .flatten
      run(failures(3): _*)._1.state shouldBe a[State.Waiting]
      run(failures(4): _*)._2 should contain(Command.GiveUp)
    }

    it("forgets its failures with the first event, not with the call that was opened") {
      val failed =
        Seq(0L -> Event.Asked, 1L -> Event.Failed(1, Setback.Counted), 100L -> Event.Woken, 101L -> Event.Opened(2))
      run(failed: _*)._1.counted shouldBe 1
      run(failed :+ (102L -> Event.Arrived(2, after(1))): _*)._1.counted shouldBe 0
    }

    it("keeps a second between two calls") {
      val (s, commands) = run(Seq(0L -> Event.Asked, 0L -> Event.Failed(1, Setback.Again)): _*)
      s.state shouldBe State.Waiting(second)
      commands should contain(Command.WakeAt(second))
    }
  }

  describe("over any sequence of events") {
    // Calls of the past, the present and the future; the machine must know which is which.
    val anyCall = Gen.choose(1L, 6L)
    val events  = Gen.frequency[Event](
      6 -> Gen.const(Event.Asked),
      4 -> anyCall.map(Event.Opened(_)),
      6 -> Gen.zip(anyCall, Gen.choose(1L, 1000L)).map { case (c, n) => Event.Arrived(c, after(n)) },
      1 -> anyCall.map(Event.Arrived(_, ShardEnd)),
      3 -> anyCall.map(Event.Completed(_)),
      4 -> Gen.zip(anyCall, Gen.oneOf(Setback.Again, Setback.Busy, Setback.Counted, Setback.Fatal)).map { case (c, s) =>
        Event.Failed(c, s)
      },
      5 -> Gen.const(Event.Woken),
      1 -> Gen.const(Event.Closed)
    )
    val histories                                      = Gen.listOfN(40, Gen.zip(Gen.choose(0L, 40L), events))
    implicit val noShrink: Shrink[List[(Long, Event)]] = Shrink.shrinkAny

    it("there is at most one open call, no lost demand, no position but from the current call") {
      forAll(histories, minSuccessful(10000)) { history =>
        var s       = Subscription.at(after(0), 0)
        var now     = 0L
        var open    = Set.empty[Long]
        var wakes   = Set.empty[Long]
        var asked   = false
        var resumes = s.resume
        history.foreach { case (seconds, event) =>
          now += seconds * second
          val before           = s
          val (next, commands) = step(s, event, policy, now, 0.5)
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
            case Command.Cancel(call) => open -= call
            case Command.WakeAt(at)   => wakes += at
            case Command.Deliver      =>
              asked shouldBe true
              asked = false
              event shouldBe a[Event.Arrived]
            case Command.GiveUp           => asked = false
            case Command.RequestOne(call) => open should contain(call)
          }
          if (event == Event.Closed) asked = false
          open.size should be <= 1
          if (next.resume != before.resume) {
            commands should contain(Command.Deliver)
            resumes = next.resume
          }
          // Somebody waits: then a timer is set for the moment at which the machine would do something by itself.
          if (asked) next.state match {
            case State.Waiting(until)             => wakes should contain(until)
            case State.Calling(_, deadline)       => wakes should contain(deadline)
            case State.Live(_, true, silentAfter) => wakes should contain(silentAfter)
            case stuck                            => fail(s"asked, and nothing will happen in $stuck")
          }
          s = next
        }
        s.resume shouldBe resumes
      }
    }
  }
}
