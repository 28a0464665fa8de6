package io.github.kinesisspark.write

import scala.concurrent.duration._
import scala.util.Try

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.runtime.{Attempt, Runtime, Timer, WaitingQueue}

/** What the writers of one process share: clients, and threads for work that may block. */
private[write] final class WriterRuntime(val clients: KinesisClients) {
  import WriterRuntime._

  implicit val runtime: Runtime = clients.runtime

  // As many threads as work at once; an idle one ends after a minute.
  private lazy val workers = runtime.workers.growing("kinesis-writers")

  def after(time: FiniteDuration)(action: => Unit): Timer = runtime.timers.schedule(time.toNanos)(execute(action))

  def execute(action: => Unit): Unit = workers.execute(() => action)

  /** On behalf of a task, without its thread: Spark may kill a task and not interrupt that. Then the work is interrupted.
    *
    * @throws java.lang.InterruptedException where the task is killed, or the calling thread interrupted
    * @throws java.lang.Throwable            what the work throws
    */
  def unlessKilled[A](isKilled: () => Boolean)(work: => A): A = {
    val results = new WaitingQueue[Try[A]]
    val job     = new InterruptibleRun
    workers.execute(() => job.run(results.put(Attempt(work))))
    try {
      var result = results.poll(Glance)
      while (result.isEmpty && !isKilled()) result = results.poll(Glance)
      result.getOrElse(throw new InterruptedException("The task is being killed")).get
    } finally job.end()
  }
}

private[write] object WriterRuntime {

  lazy val ofJvm: WriterRuntime = new WriterRuntime(KinesisClients.ofJvm)

  private val Glance = 100.millis
}

/** Work that a timer's thread does for an object, until the object is closed. Thread-safe. */
private[write] final class InterruptibleRun {
  private var runner = Option.empty[Thread]
  private var isOver = false

  /** Does the work, unless the end has come. */
  def run(work: => Unit): Unit = if (began())
    try work
    finally ended()

  /** Interrupts the work under way; there is none after it. */
  def end(): Unit = synchronized {
    isOver = true
    runner.foreach(_.interrupt())
  }

  private def began() = synchronized {
    if (!isOver) runner = Some(Thread.currentThread)
    !isOver
  }

  private def ended(): Unit = synchronized {
    runner = None
    Thread.interrupted(): Unit
  }
}
