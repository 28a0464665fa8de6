package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.{FaultEffect, KinesisServerConfig, Streams, Strike, Subscriptions}
import io.github.kinesisspark.testkit.auth.Resource
import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Fields, Reply}

/** One call as an operation sees it: its members, the account it works on, and the faults that only the operation itself
  * can play. What every operation needs to find and to check stands here once.
  */
final private[testkit] class Request(
    val fields: Fields,
    val streams: Streams,
    val subscriptions: Subscriptions,
    val config: KinesisServerConfig,
    strikes: Vector[Strike]
) {
  val now: Long = config.clock.millis

  /** The faults whose effect is one that the operation plays. */
  def effects[E](of: PartialFunction[FaultEffect, E]): Vector[(E, Strike)] =
    strikes.flatMap(strike => of.lift(strike.rule.effect).map(_ -> strike))

  /** The stream by name or ARN, in whatever state. */
  def stream: Stream = {
    val name = Request
      .streamName(fields)
      .getOrElse(
        ServiceError.invalidArgument("Either StreamName or StreamARN must be specified.").raise()
      )
    Request.checkName(name, "streamName")
    val stream = streams.existing(name)
    fields.text("StreamARN").filterNot(_ == stream.arn).foreach { arn =>
      ServiceError.notFound(s"Stream arn $arn under account ${config.accountId} not found.").raise()
    }
    stream
  }

  /** The stream or consumer that a ResourceARN names: its stream and its ARN. */
  def resource: (Stream, String) = {
    val arn    = fields.requiredText("ResourceARN")
    val stream = Resource.of(arn).flatMap(_.stream).flatMap(streams.get).filter { s =>
      arn == s.arn || s.consumers.findArn(arn, now).nonEmpty
    }
    (
      stream.getOrElse(ServiceError.notFound(s"Resource $arn under account ${config.accountId} not found.").raise()),
      arn
    )
  }

  /** The stream, for calls that need it to have been made. */
  def readyStream: Stream = ready(stream)

  def ready(stream: Stream): Stream =
    if (stream.status == StreamStatus.Creating) ServiceError.streamNotFound(stream.name, config.accountId).raise()
    else stream

  /** What a NextToken says; refused are one that is none and one that is expired. */
  def continued[P <: Page](page: Option[P]): P = {
    val known = page.getOrElse(ServiceError.invalidArgument("Invalid NextToken.").raise())
    if (known.isExpired(now))
      ServiceError.expiredToken("The pagination token passed to the operation is expired.").raise()
    known
  }

  /** How many results a page has, as the call asks and at most as many as the service gives. */
  def page(member: String, most: Int): Int =
    fields.int(member).fold(most)(bounded(member.head.toLower +: member.tail, _, 1, Quota.PageMaxAsked).min(most))

  /** A number within bounds. */
  def bounded(member: String, value: Int, low: Int, high: Int): Int = {
    Request.checkAtLeast(member, value, low)
    if (value > high)
      ServiceError.validation(s"$value", member, s"Member must have value less than or equal to $high").raise()
    value
  }
}

private[testkit] object Request {

  /** The stream a call names, if any: itself, or in the ARN of one of its consumers. */
  def streamName(fields: Fields): Option[String] = fields
    .text("StreamName")
    .orElse(Arns.flatMap(fields.text(_)).headOption.map(_.split('/').lift(1).getOrElse("")))

  private val Arns = Vector("StreamARN", "ConsumerARN", "ResourceARN")

  def checkAtLeast(member: String, value: Int, low: Int): Unit =
    if (value < low)
      ServiceError.validation(s"$value", member, s"Member must have value greater than or equal to $low").raise()

  def checkName(name: String, member: String): Unit =
    if (!name.matches("[a-zA-Z0-9_.-]{1,128}"))
      ServiceError
        .validation(name, member, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
        .raise()
}

/** The result of a call.
  *
  * @param records how many records it carried or answered with
  * @param shards the shards it turned out to concern, where the request itself does not say
  */
final private[testkit] case class Outcome(reply: Reply, records: Int = 0, shards: Set[String] = Set.empty)

private[testkit] object Outcome {
  val done: Outcome = Outcome(Reply.Empty)
}

private[testkit] object Operation {

  /** An operation of the service: it answers or raises a [[ServiceException]]. */
  type Operation = Request => Outcome

  /** Every operation by its name on the wire. */
  val all: Map[String, Operation] =
    StreamOperations.all ++ ReshardOperations.all ++ ListShards.all ++ ReadOperations.all ++ WriteOperations.all ++
      ConsumerOperations.all ++ SubscribeToShard.all ++ PolicyOperations.all ++ TagOperations.all ++
      DistributionOperations.all
}
