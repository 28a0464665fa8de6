package io.github.kinesisspark.runtime

/** The class path of the thread that makes this, for work on threads of others: each session of Spark Connect has its own JARs. */
final class SessionClasses {
  private val loader = Thread.currentThread.getContextClassLoader

  def in[A](work: => A): A = {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(loader)
    try work
    finally thread.setContextClassLoader(before)
  }
}
