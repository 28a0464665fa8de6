package io.github.kinesisspark.read.reader

import java.util.concurrent.{ConcurrentLinkedQueue, Executor}
import java.util.concurrent.atomic.AtomicBoolean

import io.github.kinesisspark.runtime.Attempt

/** Messages from any thread, handled one after the other on a worker. Putting one never blocks. Where the worker takes no work, as without memory, the message
  * stays, and the next one brings both to it.
  *
  * @param handle sees all that its earlier runs wrote. What it throws goes to `failed`, and the next message is handled
  */
final class Mailbox[A](worker: Executor, failed: Throwable => Unit)(handle: A => Unit) {
  private val messages  = new ConcurrentLinkedQueue[A]
  private val isWorking = new AtomicBoolean

  def put(message: A): Unit = {
    messages.add(message)
    work()
  }

  private def work(): Unit = if (!messages.isEmpty && isWorking.compareAndSet(false, true))
    try worker.execute(() => handleAll())
    catch {
      case e: Throwable =>
        isWorking.set(false)
        throw e
    }

  private def handleAll(): Unit = {
    var next = Option(messages.poll())
    while (next.nonEmpty) {
      try next.foreach(handle)
      catch {
        // Without memory, that may throw as well. The messages behind it are not to wait without end.
        case unexpected: Throwable => Attempt(failed(unexpected)): Unit
      }
      next = Option(messages.poll())
    }
    isWorking.set(false)
    work()
  }
}
