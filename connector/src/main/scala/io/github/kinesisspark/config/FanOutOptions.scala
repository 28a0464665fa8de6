package io.github.kinesisspark.config

import io.github.kinesisspark.position.ConsumerArn

/** Enhanced fan-out, as FLIP-128 has it.
  *
  * @param consumers through which consumer each stream is read; every stream of the source is in it
  * @param tags      of consumers that are registered
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/enhanced-consumers.html enhanced fan-out consumers]]
  */
final case class FanOutOptions(
    consumers: Map[StreamRef, ConsumerChoice],
    tags: Map[String, String]
)

object FanOutOptions {

  /** Key of the tag that says for which query a consumer was registered. */
  val OwnerTag = "kinesis-spark:query"

  /** Of one consumer.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html TagResource]]
    */
  val MostTags = 50
}

/** Through which consumer a stream is read. */
sealed trait ConsumerChoice extends Product with Serializable

object ConsumerChoice {

  /** The consumer of that name, registered where it doesn't exist.
    *
    * @param deregistration when the query stops in good order, or fails
    */
  final case class Registered(name: String, when: RegistrationTime, deregistration: Deregistration)
      extends ConsumerChoice

  /** A consumer that somebody else registers and deregisters. */
  final case class Given(arn: ConsumerArn) extends ConsumerChoice
}

/** When a consumer is registered. */
sealed trait RegistrationTime extends Product with Serializable

object RegistrationTime {

  /** When the query starts. */
  case object Lazy extends RegistrationTime

  /** Already at `load()`, so that it is ready when the query starts. */
  case object Eager extends RegistrationTime
}

/** Which consumers a query deregisters at its end. */
sealed trait Deregistration extends Product with Serializable

object Deregistration {

  /** Those that it has registered itself. */
  case object OfRegistered extends Deregistration

  /** Also those that it found. */
  case object OfAll  extends Deregistration
  case object OfNone extends Deregistration
}

/** What it takes to register, list and deregister consumers. */
final case class ConsumerOptions(streams: Seq[StreamOptions], tags: Map[String, String])
