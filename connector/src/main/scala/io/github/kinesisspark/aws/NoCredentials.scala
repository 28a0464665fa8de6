package io.github.kinesisspark.aws

import java.io.IOException
import java.nio.file.Path

import software.amazon.awssdk.core.exception.SdkException
import software.amazon.awssdk.thirdparty.jackson.core.JsonProcessingException

/** Credentials could not be had, for a reason that is neither a call of AWS's nor a [[KinesisException]]. It shows what the credentials are, so that the failure
  * of a file or a process is not taken for one of the connection to Kinesis.
  */
private[aws] final class NoCredentials private (message: String, cause: Throwable)
    extends RuntimeException(message, cause)

private[aws] object NoCredentials {

  /** @param what the credentials are */
  def of(what: String, failure: Exception): Exception = failure match {
    case _: SdkException | _: KinesisException | _: NoCredentials => failure
    // Parsers show the text that they can't read, which may hold a secret.
    case _ if FaultClassifier.causes(failure).exists(_.isInstanceOf[JsonProcessingException]) =>
      new NoCredentials(s"$what gave no credentials: what it printed is not JSON", null)
    case _ => new NoCredentials(s"$what gave no credentials", failure)
  }

  /** The default chain continues after it, as it does not after an IOException. */
  def unreadable(file: Path, why: IOException): NoCredentials =
    new NoCredentials(s"$file can't be read", why)
}
