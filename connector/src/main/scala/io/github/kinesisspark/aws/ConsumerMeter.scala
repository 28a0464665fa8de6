package io.github.kinesisspark.aws

import java.util.concurrent.atomic.AtomicReference

import org.slf4j.LoggerFactory

import scala.concurrent.duration.FiniteDuration

/** How much it took to find, register and deregister consumers.
  *
  * @param calls        attempts by the API's name of the call
  * @param waits        pauses before another attempt, or another look
  * @param waitedMillis all of them together
  */
final case class ConsumerCalls(calls: Map[String, Long], waits: Long, waitedMillis: Long) {
  private[aws] def called(action: String): ConsumerCalls =
    copy(calls = calls.updated(action, calls.getOrElse(action, 0L) + 1))

  private[aws] def waited(wait: FiniteDuration): ConsumerCalls =
    copy(waits = waits + 1, waitedMillis = waitedMillis + wait.toMillis)
}

object ConsumerCalls {
  val none: ConsumerCalls = ConsumerCalls(Map.empty, 0, 0)
}

/** Logs and counts. */
private[aws] final class ConsumerMeter extends CallObserver {
  private val log   = LoggerFactory.getLogger(classOf[ConsumerMeter])
  private val count = new AtomicReference(ConsumerCalls.none)

  def calls: ConsumerCalls = count.get

  override def called(action: String): Unit = {
    log.debug("{}", action)
    count.updateAndGet(_.called(action)): Unit
  }

  override def waits(why: => String, wait: FiniteDuration): Unit = {
    if (log.isInfoEnabled) log.info(s"$why Next try in ${wait.toMillis} ms.")
    count.updateAndGet(_.waited(wait)): Unit
  }
}
