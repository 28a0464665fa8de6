package io.github.kinesisspark.aws

private[kinesisspark] object Closing {

  /** Makes something that keeps what is open already, and closes that if it can't. */
  def unlessMade[A](close: => Unit)(make: => A): A =
    try make
    catch {
      case e: Throwable =>
        close
        throw e
    }
}
