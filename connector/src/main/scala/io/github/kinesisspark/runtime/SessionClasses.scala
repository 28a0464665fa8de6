package io.github.kinesisspark.runtime

import java.lang.ref.WeakReference

/** The class path of the thread that makes this, for work on threads of others: each session of Spark Connect has its own JARs. A session that is over isn't
  * kept from being collected; then work has the class path of the thread that does it.
  */
final class SessionClasses {
  private val loader = new WeakReference(Thread.currentThread.getContextClassLoader)

  def in[A](work: => A): A = {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    Option(loader.get).foreach(thread.setContextClassLoader)
    try work
    finally thread.setContextClassLoader(before)
  }
}
