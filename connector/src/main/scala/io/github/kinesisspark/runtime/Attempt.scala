package io.github.kinesisspark.runtime

import scala.util.{Failure, Success, Try}

/** What a work has come to, be it an Error: somebody waits to hear of it. [[scala.util.Try]] lets the fatal ones of them go. */
object Attempt {
  def apply[A](work: => A): Try[A] =
    try Success(work)
    catch { case e: Throwable => Failure(e) }
}
