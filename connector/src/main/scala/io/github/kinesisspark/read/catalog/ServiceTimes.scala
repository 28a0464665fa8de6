package io.github.kinesisspark.read.catalog

import scala.concurrent.duration._

/** A service's clock as its answers have shown it, in ms since 1970, at times of the driver's own. Pure.
  *
  * The driver's clock stands still while its machine sleeps. What an answer says after that holds for later times alone: by it, an earlier time would
  * seem to be as much later as the machine has slept.
  *
  * @param spans between sleeps, the newest first
  */
private[catalog] final case class ServiceTimes(spans: List[ServiceTimes.Span]) {
  import ServiceTimes._

  /** The service has answered.
    *
    * @param nanos by the driver's clock, once the answer was there
    */
  def answered(millis: Long, nanos: Long): ServiceTimes = ServiceTimes(spans match {
    case last :: _ if millis - last.at(nanos) > Sleep.toMillis => Span(nanos, millis, nanos) :: spans.take(MostSleeps)
    case last :: earlier                                       => Span(last.since, millis, nanos) :: earlier
    case Nil                                                   => List(Span(nanos, millis, nanos))
  })

  def at(nanos: Long): Long = spans.find(nanos - _.since >= 0).orElse(spans.lastOption).fold(0L)(_.at(nanos))
}

private[catalog] object ServiceTimes {
  val none: ServiceTimes = ServiceTimes(Nil)

  /** Answers have whole seconds, and take some time to come. */
  private val Sleep = 3.seconds

  private val MostSleeps = 10

  /** @param since  by the driver's clock
    * @param millis what the last answer said
    * @param nanos  when it came
    */
  final case class Span(since: Long, millis: Long, nanos: Long) {
    def at(time: Long): Long = millis + (time - nanos).nanos.toMillis
  }
}
