package io.github.kinesisspark.aws

import org.slf4j.LoggerFactory

import scala.concurrent.duration.FiniteDuration

/** Sees blocking calls and their waits, to log and to count them. */
private[kinesisspark] trait CallObserver {

  /** @param action the API's name of the call */
  def called(action: String): Unit

  /** @param why one sentence: what came back, or what is waited for */
  def waits(why: => String, wait: FiniteDuration): Unit
}

private[kinesisspark] object CallObserver {
  private val log = LoggerFactory.getLogger(classOf[CallObserver])

  /** Warns of each wait, because the query stands still meanwhile. */
  val warning: CallObserver = new CallObserver {
    override def called(action: String): Unit                      = ()
    override def waits(why: => String, wait: FiniteDuration): Unit =
      log.warn(s"$why Next attempt in ${wait.toMillis} ms.")
  }

  val silent: CallObserver = new CallObserver {
    override def called(action: String): Unit                      = ()
    override def waits(why: => String, wait: FiniteDuration): Unit = ()
  }
}
