package io.github.kinesisspark.aws

import java.util.concurrent.ThreadFactory
import java.util.concurrent.atomic.AtomicInteger

/** Threads that keep no JVM from ending, numbered.
  *
  * @param name of all of them, before the number
  */
final class DaemonThreads(name: String) extends ThreadFactory {
  private val made = new AtomicInteger

  override def newThread(work: Runnable): Thread = {
    val thread = new Thread(work, s"$name-${made.incrementAndGet()}")
    thread.setDaemon(true)
    thread
  }
}
