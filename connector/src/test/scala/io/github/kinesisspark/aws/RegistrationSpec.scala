package io.github.kinesisspark.aws

import io.github.kinesisspark.config.{CallRetries, RetryOptions}
import io.github.kinesisspark.position.ConsumerArn
import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.services.kinesis.model.{
  AccessDeniedException,
  InternalFailureException,
  LimitExceededException,
  ResourceInUseException
}

import scala.annotation.tailrec
import scala.concurrent.duration._

class RegistrationSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  import ConsumerStatus._
  import Registration._
  import Registration.Command._
  import Registration.Event._

  private val flip128 = RetryOptions(Some(10), 200.millis, 1.second, 1.5)
  private val patient = RetryOptions(Some(50), 2.seconds, 5.seconds, 1.5)
  private val retries = of(flip128, patient)

  private def of(register: RetryOptions, describe: RetryOptions) = CallRetries(
    Map("RegisterStreamConsumer" -> register, "DescribeStreamConsumer" -> describe),
    maxDuration = 15.minutes
  )

  private def consumer(status: ConsumerStatus, name: String = "app") =
    StreamConsumer(ConsumerArn(s"arn:aws:kinesis:eu-west-1:000000000000:stream/orders/consumer/$name:1"), status, 0)

  private def fault(failure: Throwable): Fault = FaultClassifier.classify(failure)

  private val limit  = fault(LimitExceededException.builder.message("limit").build)
  private val inUse  = fault(ResourceInUseException.builder.message("in use").build)
  private val denied = fault(AccessDeniedException.builder.message("no").build)
  private val broken = fault(InternalFailureException.builder.message("oops").build)

  private def step(
      registration: Registration,
      event: Event,
      by: CallRetries = retries,
      chance: Double = 0.5,
      at: FiniteDuration = Duration.Zero
  ): (Registration, Command) = registration.step(event, by, hasWorked = true, at.toNanos, chance)

  private def command(goal: Goal, event: Event): Command = step(Registration(goal), event)._2

  describe("the command after a look at the consumer") {
    it("follows the table of goals and consumer states") {
      val goals    = Seq(Goal.Known, Goal.Ready, Goal.Found)
      val sights   = Seq(None, Some(Deleting), Some(Creating), Some(Active))
      val expected = Seq(
        Seq("Register", "Look", "Done", "Done"),
        Seq("Register", "Look", "Look", "Done"),
        Seq("Fail", "Fail", "Look", "Done")
      )
      for ((goal, row) <- goals.zip(expected); (sight, what) <- sights.zip(row))
        withClue(s"$goal, $sight: ") {
          command(goal, Described(sight.map(consumer(_)))).getClass.getSimpleName.stripSuffix("$") shouldBe what
        }
    }

    it("is another look if the consumer's status is unknown") {
      command(Goal.Known, Described(Some(consumer(Other("PAUSED"))))) shouldBe a[Look]
    }
  }

  describe("a refused registration") {
    it("lists the consumers on a limit, looks again if in use or failed, and fails if denied") {
      command(Goal.Ready, Refused(limit)) shouldBe a[ListConsumers]
      command(Goal.Ready, Refused(inUse)) shouldBe Look(1.second, Failure.Refused(inUse))
      command(Goal.Ready, Refused(broken)) shouldBe Look(100.millis, Failure.Refused(broken))
      command(Goal.Ready, Refused(denied)) shouldBe Fail(Failure.Refused(denied))
    }

    it("is made again without the owner's tag if it is denied with it, and then fails") {
      val (untagged, command) = step(Registration(Goal.Ready, isTagged = true), Refused(denied))
      command shouldBe Register(isTagged = false)
      step(untagged, Refused(denied))._2 shouldBe Fail(Failure.Refused(denied))
      step(untagged, Described(None))._2 shouldBe Register(isTagged = false)
    }

    it("is retried as often as configured, with growing waits up to the maximum") {
      @tailrec def all(registration: Registration, waits: Vector[FiniteDuration]): (Vector[FiniteDuration], Failure) =
        step(registration, Refused(broken)) match {
          case (next, Look(wait, _)) => all(next, waits :+ wait)
          case (_, Fail(failure))    => (waits, failure)
          case other                 => fail(other.toString)
        }
      val (waits, failure) = all(Registration(Goal.Ready), Vector.empty)
      waits.map(_.toMillis) shouldBe Seq(100, 150, 225, 337, 500, 500, 500, 500, 500, 500)
      failure shouldBe Failure.Refused(broken)
    }

    it("is not retried if maxRetries is 0") {
      val none = of(flip128.copy(maxRetries = Some(0)), patient)
      step(Registration(Goal.Ready), Refused(broken), none)._2 shouldBe Fail(Failure.Refused(broken))
    }
  }

  describe("a registration without maxRetries") {
    it("is retried, and waits for a consumer that is CREATING, until maxRetryDuration has passed") {
      val unlimited =
        of(flip128.copy(maxRetries = None), flip128.copy(maxRetries = None))
      for (event <- Seq(Refused(broken), Described(Some(consumer(Creating))))) {
        val first = step(Registration(Goal.Ready), event, unlimited)._1
        step(first, event, unlimited, at = 14.minutes)._2 shouldBe a[Look]
        step(first, event, unlimited, at = 16.minutes)._2 shouldBe a[Fail]
      }
    }
  }

  describe("the limit behind LimitExceededException") {
    def many(count: Int, status: ConsumerStatus) = Vector.tabulate(count)(i => consumer(status, s"c-$i"))

    it("is derived from the number of consumers, their states and earlier refusals") {
      val cases = Seq(
        (Vector.empty, 0, ConsumerLimit.Calls),
        (many(19, Active), 5, ConsumerLimit.Calls),
        (many(5, Creating), 0, ConsumerLimit.Creating),
        (many(4, Creating) ++ many(15, Active), 0, ConsumerLimit.Calls),
        (many(20, Active), 0, ConsumerLimit.Calls),
        (many(20, Active), 1, ConsumerLimit.Consumers),
        (many(49, Active), 1, ConsumerLimit.Consumers),
        (many(50, Active), 0, ConsumerLimit.Consumers),
        (many(45, Active) ++ many(5, Creating), 3, ConsumerLimit.Creating)
      )
      for ((present, before, expected) <- cases)
        withClue(s"${present.size}, $before: ")(ConsumerLimit.of("limit", present, before) shouldBe expected)
    }

    it("is that of calls if the message says that the rate was exceeded") {
      ConsumerLimit.of("Rate exceeded for account 000000000000", many(50, Active), 3) shouldBe ConsumerLimit.Calls
    }

    it("fails the registration with the list of consumers only if the stream is full") {
      val full   = many(20, Active)
      val before = step(Registration(Goal.Ready), Refused(broken))._1
      step(before, Listed(limit, "limit", full))._2 shouldBe
        Fail(Failure.Full(full))
      command(Goal.Ready, Listed(limit, "limit", full)) shouldBe Look(100.millis, Failure.Refused(limit))
      // Five at once take longer than calls do.
      command(Goal.Ready, Listed(limit, "limit", many(5, Creating))) shouldBe Look(1.second, Failure.Refused(limit))
    }
  }

  describe("a registration with random answers of the service") {

    /** What the service says to the next question: what is seen, and what becomes of a registration. */
    val answers = for {
      seen    <- Gen.option(Gen.oneOf(Creating, Active, Deleting, Other("ODD")).map(consumer(_)))
      refusal <- Gen.option(Gen.oneOf(limit, inUse, broken, denied))
      present <- Gen.choose(0, 60)
    } yield (seen, refusal, present)

    it("ends within 400 steps in a state that fits its goal") {
      forAll(Gen.oneOf(Goal.Known, Goal.Ready, Goal.Found), Gen.listOfN(400, answers), Gen.choose(0.0, 0.999)) {
        (goal, service, chance) =>
          val script = Iterator.continually(service).flatten
          var looks  = 0
          @tailrec def run(registration: Registration, event: Event, steps: Int): Unit = {
            withClue("steps: ")(steps should be < 400)
            val (next, command) = step(registration, event, chance = chance)
            command match {
              case Register(_) =>
                goal should not be Goal.Found
                event shouldBe Described(None)
                val (_, refusal, _) = script.next()
                run(next, refusal.fold[Event](Described(Some(consumer(Creating))))(Refused(_)), steps + 1)
              case ListConsumers(f, said) =>
                run(next, Listed(f, said, Vector.fill(script.next()._3)(consumer(Active))), steps + 1)
              case Look(wait, _) =>
                looks += 1
                wait should (be >= Duration.Zero and be < 5.seconds)
                run(next, Described(script.next()._1), steps + 1)
              case Done(found) =>
                event shouldBe Described(Some(found))
                Set[ConsumerStatus](Active, Creating) should contain(found.status)
                if (goal != Goal.Known) found.status shouldBe Active
              case Fail(Failure.Missing(_)) => goal shouldBe Goal.Found
              case Fail(Failure.Full(them)) => them.size should be >= ConsumerLimit.MostOfAStream
              case Fail(Failure.Stuck(_))   => patient.maxRetries should contain(next.waits.counted)
              case Fail(Failure.Refused(f)) =>
                if (f != denied) next.waits.failures + next.refusals.failures should be > 10
            }
          }
          run(Registration(goal), Described(script.next()._1), 0)
          looks should be <= 60
      }
    }
  }
}
