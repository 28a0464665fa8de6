package io.github.kinesisspark.aws

import java.util.concurrent.{CompletionException, ExecutionException}

import software.amazon.awssdk.awscore.exception.AwsServiceException
import software.amazon.awssdk.core.exception.SdkServiceException

/** Decides what a failed call means, by [[FaultTable]]. */
object FaultClassifier {

  /** What a failed call means.
    *
    * @param failure as a future or a blocking call gave it, wrappers and all
    */
  def classify(failure: Throwable): Fault = {
    val chain = causes(failure)
    // The service's own answer beats the symptoms of the transport.
    val answered     = chain.collectFirst { case e: SdkServiceException => e }
    val (row, cause) = answered
      .flatMap(e => FaultTable.rows.find(matches(_, e)).map(_ -> (e: Throwable)))
      .orElse(FaultTable.rows.iterator.flatMap(row => chain.find(matches(row, _)).map(row -> _)).nextOption())
      .getOrElse(FaultTable.rows.last -> failure)
    row.fault(row.kind, cause)
  }

  private def matches(row: FaultTable.Row, e: Throwable): Boolean = {
    val (code, service) = e match {
      case aws: AwsServiceException =>
        val details = Option(aws.awsErrorDetails)
        val code    = details.flatMap(d => Option(d.errorCode)).getOrElse(e.getClass.getSimpleName)
        (Some(code), details.flatMap(d => Option(d.serviceName)))
      case _ => (None, None)
    }
    val status = e match {
      case answered: SdkServiceException => Some(answered.statusCode)
      case _                             => None
    }
    val anyOfThem = row.codes.isEmpty && row.classes.isEmpty && row.named.isEmpty
    (anyOfThem || code.exists(row.codes) || row.classes.exists(_.isInstance(e)) || row.named(
      e.getClass.getSimpleName
    )) &&
    (row.statuses.isEmpty || status.exists(row.statuses.contains(_))) &&
    (row.services.isEmpty || service.exists(row.services)) &&
    row.saying.forall(text => Option(e.getMessage).exists(text.findFirstIn(_).isDefined))
  }

  /** The failure and its causes, outermost first; a loop in them, or a very long chain, is cut. The wrappers that futures
    * put around a failure are left out, because their message repeats that of what they wrap.
    */
  private[aws] def causes(failure: Throwable): Seq[Throwable] = {
    val chain = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(20).toSeq
    chain.filterNot(isWrapper) match {
      case Nil  => chain
      case bare => bare
    }
  }

  private def isWrapper(e: Throwable) = e match {
    case _: CompletionException | _: ExecutionException => true
    case _                                              => false
  }
}
