package scala.jdk

import java.time.Duration

import scala.concurrent.duration.FiniteDuration

/** As in Scala 2.13's library; scala-collection-compat doesn't have it. */
object DurationConverters {
  implicit final class ToJava(private val duration: FiniteDuration) extends AnyVal {
    def toJava: Duration = Duration.ofNanos(duration.toNanos)
  }
}
