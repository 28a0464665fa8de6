package io.github.kinesisspark.read.shard

import java.util.concurrent.{ConcurrentLinkedQueue, Executor}
import java.util.concurrent.atomic.AtomicInteger

/** Messages from any thread, handled one after the other on a worker. Whoever puts one never waits.
  *
  * @param handle sees all that its earlier calls wrote; must not throw
  */
final class Mailbox[A](worker: Executor)(handle: A => Unit) {
  private val messages = new ConcurrentLinkedQueue[A]
  private val waiting  = new AtomicInteger

  def put(message: A): Unit = {
    messages.add(message)
    if (waiting.getAndIncrement() == 0) worker.execute(() => handleAll())
  }

  @annotation.tailrec
  private def handleAll(): Unit = {
    handle(messages.poll())
    if (waiting.decrementAndGet() > 0) handleAll()
  }
}
