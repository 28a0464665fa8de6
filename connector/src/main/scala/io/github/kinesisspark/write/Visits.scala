package io.github.kinesisspark.write

/** What a thread of somebody else's does here now and then, until that is ended. */
private[write] final class Visits {
  private var visitor = Option.empty[Thread]
  private var isOver  = false

  /** Does it, unless it is over already. */
  def visit(work: => Unit): Unit = if (come())
    try work
    finally leave()

  /** Interrupts who is here, and nobody later; nobody comes any more. */
  def end(): Unit = synchronized {
    isOver = true
    visitor.foreach(_.interrupt())
  }

  private def come() = synchronized {
    if (!isOver) visitor = Some(Thread.currentThread)
    !isOver
  }

  private def leave(): Unit = synchronized {
    visitor = None
    Thread.interrupted(): Unit
  }
}
