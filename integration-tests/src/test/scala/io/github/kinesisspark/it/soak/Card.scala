package io.github.kinesisspark.it.soak

import io.github.kinesisspark.testkit.{CallFault, EventFault, FaultEffect, FaultRule, Occurrence, ResetPoint}
import io.github.kinesisspark.testkit.FaultEffect._

import scala.concurrent.duration._
import scala.util.Random

/** One kind of thing that the nemesis does, played with chance's help.
  *
  * @param play deeds, and how long after the card is played each is done
  */
final case class Card(name: String, play: Random => Vector[(FiniteDuration, Deed)])

object Card {
  private val Subscribe = "SubscribeToShard"

  /** Every kind there is; some of them more than once. As many shards are split as merged. */
  val deck: Vector[Card] = inSubscriptions ++ atTheEnd ++ ofCalls ++ ofTheConsumer ++ ofTheReader ++ ofTheStream

  private def inSubscriptions = Vector(
    events("error-internal", 0.02)(_ => ErrorEvent("InternalFailureException")),
    events("error-kms-throttled", 0.02)(_ => ErrorEvent("KMSThrottlingException")),
    events("error-limit", 0.02)(_ => ErrorEvent("LimitExceededException")),
    // Three times on the same shard would be a rival.
    events("error-taken-over", 1.0, Occurrence.First(6))(_ => ErrorEvent("ResourceInUseException")),
    events("delay", 0.1)(random => DelayEvent(between(random, 500.millis, 4.seconds))),
    events("reset-stream", 0.03)(_ => ResetStream),
    events("reset-connection", 0.003)(_ => ResetConnection),
    events("silence", 1.0, Occurrence.First(3))(_ => Silence),
    events("wordless-end", 0.03)(_ => AbruptEnd),
    events("corrupt-frame", 0.02)(_ => CorruptFrame),
    events("half-told-end", 0.02)(_ => ContinuationMissing)
  )

  /** These need shards that end. */
  private def atTheEnd = Vector(
    reshardsUnder("end-with-continuation", 4.seconds)(random =>
      Vector(rule(EndWithContinuation, seed = random.nextLong()))
    ),
    reshardsUnder("end-withheld-and-polling-throttled", 8.seconds)(random =>
      Vector(
        rule(EndWithheld, seed = random.nextLong()),
        rule(ServiceCode("ProvisionedThroughputExceededException"), Some("GetRecords"), 0.5, random.nextLong()),
        rule(ServiceCode("ProvisionedThroughputExceededException"), Some("GetShardIterator"), 0.5, random.nextLong())
      )
    )
  )

  private def ofCalls = Vector(
    calls("subscribe-throttled", 0.5)(_ => ServiceCode("LimitExceededException")),
    calls("subscribe-in-use", 0.5)(_ => ServiceCode("ResourceInUseException")),
    calls("subscribe-500", 0.4)(_ => HttpStatus(500)),
    calls("subscribe-503", 0.4)(_ => HttpStatus(503)),
    calls("subscribe-reset-before", 0.2)(_ => Reset(ResetPoint.BeforeCall)),
    calls("subscribe-reset-after", 0.2)(_ => Reset(ResetPoint.AfterCall)),
    calls("subscribe-reset-inside", 0.2)(_ => Reset(ResetPoint.InsideBody)),
    calls("subscribe-truncated", 0.3)(_ => TruncatedBody),
    calls("subscribe-garbage", 0.3)(_ => GarbageBody),
    calls("subscribe-delay", 0.5)(random => Delay(between(random, 200.millis, 3.seconds))),
    calls("any-500", 0.3, action = None)(_ => HttpStatus(500)),
    calls("listing-throttled", 1.0, action = Some("ListShards"))(_ => ServiceCode("LimitExceededException"))
  )

  private def ofTheConsumer = Vector(
    Card("deregistered", _ => Vector(Duration.Zero -> Deed.DeregisterConsumer)),
    under("deregistered-and-calls-refused", 4.seconds)(random =>
      Vector("DescribeStreamConsumer", "RegisterStreamConsumer").map(action =>
        rule(ServiceCode("LimitExceededException"), Some(action), 0.5, random.nextLong())
      )
    )(_ => Vector(100.millis -> Deed.DeregisterConsumer)),
    // Clients leave their subscriptions where these go wrong, and the server doesn't take note of it.
    under("place-held", 4.seconds)(random =>
      Vector(
        rule(PlaceHeld(between(random, 3.seconds, 8.seconds)), seed = random.nextLong()),
        rule(ContinuationMissing, probability = 0.02, seed = random.nextLong())
      )
    )(_ => Vector.empty)
  )

  private def ofTheReader = Vector(
    slow(1.second, 3.seconds),
    slow(4.seconds, 12.seconds),
    restart(Duration.Zero),
    restart(4.seconds),
    Card("reshard-while-down", random => reshards(random, 500.millis) ++ down(3.seconds))
  )

  private def ofTheStream = Vector(
    Card("split", random => Vector(Duration.Zero -> Deed.Split(random.nextDouble()))),
    Card("merge", random => Vector(Duration.Zero -> Deed.Merge(random.nextDouble()))),
    Card(
      "split-of-a-split",
      random => {
        val place = random.nextDouble()
        Vector(Duration.Zero -> Deed.Split(place), 50.millis -> Deed.Split(place))
      }
    ),
    Card(
      "merge-of-a-merge",
      random => {
        val place = random.nextDouble()
        Vector(Duration.Zero -> Deed.Merge(place), 50.millis -> Deed.Merge(place))
      }
    ),
    Card("burst", random => Vector(Duration.Zero -> Deed.Burst(5000 + random.nextInt(20000)))),
    Card("burst", random => Vector(Duration.Zero -> Deed.Burst(20000 + random.nextInt(20000))))
  )

  private def events(name: String, probability: Double, occurrence: Occurrence = Occurrence.Always)(
      effect: Random => EventFault
  ) = under(name, 3.seconds)(random =>
    Vector(rule(effect(random), probability = probability, seed = random.nextLong()).copy(occurrence = occurrence))
  )(_ => Vector.empty)

  private def calls(name: String, probability: Double, action: Option[String] = Some(Subscribe))(
      effect: Random => CallFault
  ) = under(name, 3.seconds)(random => Vector(rule(effect(random), action, probability, random.nextLong())))(_ =>
    Vector.empty
  )

  private def reshardsUnder(name: String, atLeast: FiniteDuration)(rules: Random => Vector[FaultRule]) =
    under(name, atLeast)(rules)(random => reshards(random, 200.millis))

  private def reshards(random: Random, at: FiniteDuration) =
    Vector(at -> Deed.Split(random.nextDouble()), at -> Deed.Merge(random.nextDouble()))

  /** Faults, and what is done while they last. */
  private def under(name: String, atLeast: FiniteDuration)(rules: Random => Vector[FaultRule])(
      meanwhile: Random => Vector[(FiniteDuration, Deed)]
  ) = Card(
    name,
    random => lasting(Trouble.Faults(name, rules(random)), between(random, atLeast, atLeast * 2)) ++ meanwhile(random)
  )

  private def slow(shortest: FiniteDuration, longest: FiniteDuration) = Card(
    "slow-batches",
    random => {
      val pause = between(random, shortest, longest)
      lasting(Trouble.SlowBatches(pause), pause * 2)
    }
  )

  private def restart(longest: FiniteDuration) =
    Card("restart", random => down(between(random, Duration.Zero, longest)))

  private def down(time: FiniteDuration) = Vector(Duration.Zero -> Deed.StopQuery, time -> Deed.StartQuery)

  private def lasting(trouble: Trouble, time: FiniteDuration) =
    Vector(Duration.Zero -> Deed.Begin(trouble), time -> Deed.End(trouble))

  private def rule(
      effect: FaultEffect,
      action: Option[String] = Some(Subscribe),
      probability: Double = 1.0,
      seed: Long
  ) = FaultRule(effect, action = action, probability = probability, seed = seed)

  private def between(random: Random, from: FiniteDuration, to: FiniteDuration): FiniteDuration =
    from + ((to - from).toMillis * random.nextDouble()).toLong.millis
}
