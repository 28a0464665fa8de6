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
  private val name           = general(consumerName)
  private val whenRegistered = general(registration)
  private val deregistration = general(deregisterOnStop)
  private val arns           = streams.flatMap { case (ref, view) => arnOf(ref, view).map(ref -> _) }.toMap
  private val tags           = FanOutOptions.readTags(general)

  /** None for polling. */
  def options(): Option[FanOutOptions] = Option.when(general(recordPublisher))(fanOut())

  private def arnOf(ref: StreamRef, view: OptionView): Option[ConsumerChoice] = view(consumerArn).map { arn =>
    if (arn.stream.name != ref.name || ref.arn.exists(_ != arn.stream))
      problems += s"'${view.key(consumerArn)}' is a consumer of ${arn.stream}, not of $ref. Give one of that stream's consumers."
    ConsumerChoice.Given(arn)
  }

  private def fanOut(): FanOutOptions = {
    val withoutArn = streams.map(_._1).filterNot(arns.contains)
    val choice     = whenRegistered match {
      case None =>
        withoutArn.foreach { ref =>
          val isNamesake = streams.count(_._1.name == ref.name) > 1
          val stream     = if (isNamesake) ref.toString else ref.name
          problems += s"'${registration.name}' is none, but stream $ref has no consumer: set 'efo.consumerArn.$stream' to the ARN of a consumer " +
            "that is registered for it."
        }
        if (deregistration == Deregistration.OfAll)
          problems += s"'${general.key(deregisterOnStop)}' is true, but with '${registration.name}' none the query registers no consumer, " +
            "and deregisters none. Leave it out."
        if (general.has(FanOutOptions.tags))
          problems += s"'${general.key(FanOutOptions.tags)}' is given, but with '${registration.name}' none the query registers no consumer to tag. " +
            "Leave it out."
        None
      case Some(when) => registered(when, withoutArn)
    }
    FanOutOptions(arns ++ choice.toSeq.flatMap(c => withoutArn.map(_ -> c)), tags)
  }

  private def registered(when: RegistrationTime, withoutArn: Seq[StreamRef]): Option[ConsumerChoice] = {
    // A name that can't be read is a problem already.
    if (name.isEmpty && withoutArn.nonEmpty && !general.has(consumerName))
      problems += s"'${consumerName.name}' is missing: '${recordPublisher.name}' efo reads through a stream consumer, to be registered under a name of " +
        "your own (one for each query). Or set 'efo.consumerArn.<stream>' for every stream."
    if (tags.contains(FanOutOptions.OwnerTag))
      problems += s"'${general.key(FanOutOptions.tags)}' has the key ${FanOutOptions.OwnerTag}, which the connector sets itself. Leave it out."
    if (deregistration != Deregistration.OfNone && tags.size >= FanOutOptions.MostTags)
      problems += s"'${general.key(FanOutOptions.tags)}' has ${tags.size} tags. A consumer has at most ${FanOutOptions.MostTags}, and the connector " +
        s"sets ${FanOutOptions.OwnerTag}. Leave one out, or set '${deregisterOnStop.name}' to false."
    name.map(ConsumerChoice.Registered(_, when, deregistration))
  }
}
