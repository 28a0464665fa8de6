package io.github.kinesisspark.aws

import java.util.concurrent.ThreadFactory
import java.util.concurrent.atomic.AtomicInteger

/** Makes numbered daemon threads.
  *
  * @param name prefix of their names
  */
final class DaemonThreads(name: String) extends ThreadFactory {
  private val made = new AtomicInteger

  override def newThread(work: Runnable): Thread = {
    val thread = new Thread(work, s"$name-${made.incrementAndGet()}")
    thread.setDaemon(true)
    thread
  }
}
