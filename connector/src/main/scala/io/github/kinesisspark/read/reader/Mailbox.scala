package io.github.kinesisspark.read.reader

import java.util.concurrent.{ConcurrentLinkedQueue, Executor}
import java.util.concurrent.atomic.AtomicInteger

import io.github.kinesisspark.runtime.Attempt

/** Messages from any thread, handled one after the other on a worker. Putting one never blocks.
  *
  * @param handle sees all that its earlier runs wrote. What it throws goes to `failed`, and the next message is handled
  */
final class Mailbox[A](worker: Executor, failed: Throwable => Unit)(handle: A => Unit) {
  private val messages = new ConcurrentLinkedQueue[A]
  private val waiting  = new AtomicInteger

  def put(message: A): Unit = {
    messages.add(message)
    if (waiting.getAndIncrement() == 0) worker.execute(() => handleAll())
  }

  @annotation.tailrec
  private def handleAll(): Unit = {
    val message = messages.poll()
    try handle(message)
    catch {
      // Without memory, that may throw as well. The messages behind it are not to wait without end.
      case unexpected: Throwable => Attempt(failed(unexpected)): Unit
    }
    if (waiting.decrementAndGet() > 0) handleAll()
  }
}
