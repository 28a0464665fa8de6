package io.github.kinesisspark.runtime

private[kinesisspark] object Closing {

  /** Makes a value that owns open resources, and closes these if making it fails. */
  def unlessMade[A](close: => Unit)(make: => A): A =
    try make
    catch {
      case e: Throwable =>
        close
        throw e
    }

  /** Closes all in this order, also those behind one that throws. */
  def all(resources: AutoCloseable*): Unit = resources.headOption.foreach { first =>
    try first.close()
    finally all(resources.tail: _*)
  }
}
