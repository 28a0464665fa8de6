package io.github.kinesisspark

/** Runs work on the calling thread with another context class loader. */
object ContextClassLoader {
  def within[A](loader: ClassLoader)(work: => A): A = {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(loader)
    try work
    finally thread.setContextClassLoader(before)
  }
}
