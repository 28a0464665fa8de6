package io.github.kinesisspark.aws

import Registration.Failure

/** How it is told to people that a consumer can't be had, or is waited for. */
private[aws] object ConsumerFailure {

  /** @param what the consumer and its stream */
  def describe(what: String, failure: Failure): String = failure match {
    case Failure.Stuck(consumer)         => s"The $what is ${consumer.status}."
    case Failure.Missing(None)           => s"There is no $what."
    case Failure.Missing(Some(consumer)) => s"The $what is ${consumer.status}."
    case Failure.Full(present)           =>
      s"RegisterStreamConsumer failed for $what: the stream has ${present.size} consumers already " +
        s"(${present.map(_.name).sorted.mkString(", ")}), which is its quota (${ConsumerLimit.MostOfAStream} consumers of a stream, " +
        s"${ConsumerLimit.MostOfAnyStream} with On-demand Advantage)."
    case Failure.Refused(fault) => KinesisFault.describe("RegisterStreamConsumer", what, fault)
  }

  /** @param after how far it had come */
  def exception(what: String, failure: Failure, after: Registration): KinesisException = failure match {
    case Failure.Stuck(_) =>
      new KinesisException(
        "KINESIS_CONSUMER_NOT_READY",
        s"${describe(what, failure)} It was described ${after.waits.failures + 1} times. Check its state and try again later, or raise maxRetryDuration (or efo.describeStreamConsumer.maxRetries, where that is set)."
      )
    case Failure.Missing(_) =>
      new KinesisException(
        FaultClassifier.NotFound,
        s"${describe(what, failure)} Register it and give its new ARN, or have the query register one by name (efo.consumerName).",
        reason = FailureReason.NotFound
      )
    case Failure.Full(_) =>
      new KinesisException(
        "KINESIS_CONSUMER_QUOTA",
        s"${describe(what, failure)} Deregister one that nothing reads through any more, or read through it."
      )
    case Failure.Refused(fault) =>
      KinesisFault.exception(
        "RegisterStreamConsumer",
        what,
        fault,
        after.refusals.failures.max(after.waits.failures).max(1)
      )
  }
}
