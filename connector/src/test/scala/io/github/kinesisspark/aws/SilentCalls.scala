package io.github.kinesisspark.aws

import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.runtime.Runtime

import scala.concurrent.duration.FiniteDuration

/** Calls of tests that observe neither them nor their waits. */
private[kinesisspark] object SilentCalls extends CallObserver {
  override def called(action: AwsCall): Unit                                                     = ()
  override def waits(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit = ()

  /** @param hasWorked whether a call of the client has ever succeeded */
  def retry(retries: CallRetries = CallRetries.default, hasWorked: Boolean = false)(implicit
      runtime: Runtime
  ): BlockingCalls = BlockingCalls(retries, () => hasWorked, this)
}
