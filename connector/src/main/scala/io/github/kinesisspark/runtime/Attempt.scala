package io.github.kinesisspark.runtime

import scala.util.{Failure, Success, Try}

/** The result of some work, or whatever it has thrown. For work that another thread waits for: [[scala.util.Try]] doesn't catch fatal Errors, and the other
  * thread would wait without end.
  */
object Attempt {
  def apply[A](work: => A): Try[A] =
    try Success(work)
    catch { case e: Throwable => Failure(e) }
}
