package io.github.kinesisspark.it.soak

import io.github.kinesisspark.testkit.FaultRule

import scala.concurrent.duration.FiniteDuration

/** Trouble that lasts for a while. */
sealed trait Trouble { def name: String }
object Trouble       {

  /** Faults of the server. */
  final case class Faults(name: String, rules: Vector[FaultRule]) extends Trouble

  /** Every batch takes that much longer. */
  final case class SlowBatches(pause: FiniteDuration) extends Trouble { val name = "slow-batches" }
}

/** What the nemesis does. Places among the shards are fractions, so that what is decided depends on nothing that happens. */
sealed trait Deed
object Deed {
  final case class Begin(trouble: Trouble) extends Deed
  final case class End(trouble: Trouble)   extends Deed
  final case class Split(place: Double)    extends Deed
  final case class Merge(place: Double)    extends Deed
  final case class Burst(records: Int)     extends Deed
  case object StopQuery                    extends Deed
  case object StartQuery                   extends Deed
  case object DeregisterConsumer           extends Deed
}
