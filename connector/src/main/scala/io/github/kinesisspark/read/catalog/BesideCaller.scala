package io.github.kinesisspark.read.catalog

import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.runtime.Runtime

/** Work that has a thread of its own, one at a time.
  *
  * @param name of the thread
  */
private final class BesideCaller(name: String)(implicit runtime: Runtime) {
  @volatile private var inProgress = false

  def isIdle: Boolean = !inProgress

  /** The caller has seen that it is idle, and nobody else starts any. */
  def start(work: => Unit): Unit = {
    inProgress = true
    runtime.workers.start(name) {
      try work
      finally
        synchronized {
          inProgress = false
          runtime.waits.signal(this)
        }
    }
  }

  def await(atMost: FiniteDuration): Unit = synchronized(runtime.waits.until(this, atMost)(isIdle)): Unit
}
