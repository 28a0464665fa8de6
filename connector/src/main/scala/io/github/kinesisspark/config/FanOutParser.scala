package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer

import FanOutOptions.{consumerArn, consumerName, deregisterOnStop, registration}
import SourceOptions.recordPublisher

/** Decides what the `efo.` options mean together. Their values are read whatever `recordPublisher` is, so that one option
  * switches between the two; what is missing or contradictory counts for enhanced fan-out alone.
  *
  * @param streams each with the options as it sees them
  */
private[config] final class FanOutParser(
    general: OptionView,
    streams: Seq[(StreamRef, OptionView)],
    problems: ListBuffer[String]
) {
  import FanOutParser._

  /** None for polling. */
  def options(): Option[FanOutOptions] = {
    val settings = read()
    Option.when(general(recordPublisher))(fanOut(settings))
  }

  private def read() = Read(
    general(consumerName),
    general(registration),
    general(deregisterOnStop),
    streams.flatMap { case (ref, view) => arnOf(ref, view).map(ref -> _) }.toMap,
    tags()
  )

  /** Of consumers that are registered. */
  def tags(): Map[String, String] = general(FanOutOptions.tags).getOrElse(Map.empty)

  private def arnOf(ref: StreamRef, view: OptionView): Option[ConsumerChoice] = view(consumerArn).map { arn =>
    if (arn.stream.name != ref.name || ref.arn.exists(_ != arn.stream))
      problems += s"'${view.key(consumerArn)}' is a consumer of ${arn.stream}, not of $ref. Give one of that stream's consumers."
    ConsumerChoice.Given(arn)
  }

  private def fanOut(read: Read): FanOutOptions = {
    val withoutArn = streams.map(_._1).filterNot(read.arns.contains)
    val choice     = read.registration match {
      case None =>
        withoutArn.foreach { ref =>
          val isNamesake = streams.count(_._1.name == ref.name) > 1
          val stream     = if (isNamesake) ref.toString else ref.name
          problems += s"'${registration.name}' is none, but stream $ref has no consumer: set 'efo.consumerArn.$stream' to the ARN of a consumer " +
            "that is registered for it."
        }
        if (read.deregistration == Deregistration.OfAll)
          problems += s"'${general.key(deregisterOnStop)}' is true, but with '${registration.name}' none the query registers no consumer, " +
            "and deregisters none. Leave it out."
        if (general.has(FanOutOptions.tags))
          problems += s"'${general.key(FanOutOptions.tags)}' is given, but with '${registration.name}' none the query registers no consumer to tag. " +
            "Leave it out."
        None
      case Some(when) => registered(read, when, withoutArn)
    }
    FanOutOptions(read.arns ++ choice.toSeq.flatMap(c => withoutArn.map(_ -> c)), read.tags)
  }

  private def registered(read: Read, when: RegistrationTime, withoutArn: Seq[StreamRef]): Option[ConsumerChoice] = {
    // A name that can't be read is a problem already.
    if (read.name.isEmpty && withoutArn.nonEmpty && !general.has(consumerName))
      problems += s"'${consumerName.name}' is missing: '${recordPublisher.name}' efo reads through a stream consumer, to be registered under a name of " +
        "your own (one for each query). Or set 'efo.consumerArn.<stream>' for every stream."
    if (read.tags.contains(FanOutOptions.OwnerTag))
      problems += s"'${general.key(FanOutOptions.tags)}' has the key ${FanOutOptions.OwnerTag}, which the connector sets itself. Leave it out."
    if (read.deregistration != Deregistration.OfNone && read.tags.size >= FanOutOptions.MostTags)
      problems += s"'${general.key(FanOutOptions.tags)}' has ${read.tags.size} tags. A consumer has at most ${FanOutOptions.MostTags}, and the connector " +
        s"sets ${FanOutOptions.OwnerTag}. Leave one out, or set '${deregisterOnStop.name}' to false."
    read.name.map(ConsumerChoice.Registered(_, when, read.deregistration))
  }
}

private object FanOutParser {

  /** The values by themselves. */
  final case class Read(
      name: Option[String],
      registration: Option[RegistrationTime],
      deregistration: Deregistration,
      arns: Map[StreamRef, ConsumerChoice],
      tags: Map[String, String]
  )
}
