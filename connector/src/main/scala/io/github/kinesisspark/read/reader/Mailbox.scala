package io.github.kinesisspark.read.reader

import java.util.concurrent.{ConcurrentLinkedQueue, Executor}
import java.util.concurrent.atomic.AtomicBoolean

import io.github.kinesisspark.runtime.Attempt

/** Messages from any thread, handled one after the other on a worker. Putting one never blocks. Where the worker takes no work, as without memory, the message
  * waits until the next one is put.
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

  @annotation.tailrec
  private def handleAll(): Unit = Option(messages.poll()) match {
    case Some(message) =>
      try handle(message)
      catch {
        // Without memory, that may throw as well. The messages behind it are not to wait without end.
        case unexpected: Throwable => Attempt(failed(unexpected)): Unit
      }
      handleAll()
    case None =>
      isWorking.set(false)
      work()
  }
}
