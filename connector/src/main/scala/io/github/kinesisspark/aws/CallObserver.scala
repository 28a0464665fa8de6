package io.github.kinesisspark.aws

import scala.concurrent.duration.FiniteDuration

/** Is told of blocking calls, to log and to count them. */
private[kinesisspark] trait CallObserver {

  /** @param action the API's name of the call */
  def called(action: String): Unit

  /** @param why one sentence: what came back, or what is waited for */
  def waits(why: => String, wait: FiniteDuration): Unit
}

private[kinesisspark] object CallObserver {
  val silent: CallObserver = new CallObserver {
    override def called(action: String): Unit                      = ()
    override def waits(why: => String, wait: FiniteDuration): Unit = ()
  }
}
