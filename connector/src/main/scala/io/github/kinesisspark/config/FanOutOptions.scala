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

object FanOutOptions extends OptionGroup(OptionScope.Source) {

  /** Key of the tag that says for which query a consumer was registered. */
  val OwnerTag = "kinesis-spark:query"

  /** Of one consumer.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_TagResource.html TagResource]]
    */
  val MostTags = 50

  val nameOfConsumer: OptionKind[String] =
    OptionValue.matching("[A-Za-z0-9_.-]{1,128}", "1 to 128 letters, digits, dots, hyphens and underscores")

  val consumerName: Opt[Option[String]] = optional(
    "efo.consumerName",
    nameOfConsumer,
    doc =
      "The stream consumer to read through, found or registered by this name in each stream; at any time, one query " +
        "reads through it. Required with `efo`, unless each stream has an `efo.consumerArn.<stream>`."
  )

  val registration: Opt[Option[RegistrationTime]] = option(
    "efo.registration",
    OptionValue.oneOf(
      "lazy"  -> Some(RegistrationTime.Lazy),
      "eager" -> Some(RegistrationTime.Eager),
      "none"  -> None
    ),
    default = "lazy",
    doc = "When the consumer is registered, if it doesn't exist: `lazy` when the query starts, `eager` already at " +
      "`load()`, `none` never: each stream then needs an `efo.consumerArn.<stream>`."
  )

  val consumerArn: Opt[Option[ConsumerArn]] = optional(
    "efo.consumerArn.<stream>",
    OptionValue.consumerArn,
    doc =
      "The ARN of a consumer that is registered already, to read the stream of that name (or ARN) through. It is never " +
        "deregistered by the query."
  )

  val deregisterOnStop: Opt[Deregistration] = option(
    "efo.deregisterOnStop",
    OptionValue.oneOf(
      "registered" -> Deregistration.OfRegistered,
      "true"       -> Deregistration.OfAll,
      "false"      -> Deregistration.OfNone
    ),
    default = "registered",
    doc = "Which consumers given by name a query deregisters when it stops, ends or fails: `registered` those that its runs " +
      s"from this checkpoint have registered, known by their tag `${OwnerTag}`; `true` also those that it found; `false` none. After " +
      "a crash a consumer stays, and is charged for, until the end of the next run with the same stream and `efo.consumerName`. Not " +
      "`true` with `none`."
  )

  val tags: Opt[Option[Map[String, String]]] = optional(
    "efo.tags",
    OptionValue.tags(MostTags),
    doc =
      "Tags of the consumers that the query registers, such as `team=data,env=prod`: at most 49, or 50 with `efo.deregisterOnStop` `false`. " +
        s"Consumers that it finds keep theirs. Needs the permission `kinesis:TagResource`. The key `${OwnerTag}` is the connector's own."
  )

  private[config] def readTags(view: OptionView): Map[String, String] = view(tags).getOrElse(Map.empty)
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
