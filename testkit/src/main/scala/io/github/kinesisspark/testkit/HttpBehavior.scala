package io.github.kinesisspark.testkit

import scala.concurrent.duration._

/** How HTTP/2 connections live, over cleartext and TLS. The defaults never stand in a client's way.
  *
  * @param maxConcurrentStreams SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, section 5.1.2)
  * @param goAwayAfterStreams after how many streams a connection gets GOAWAY (RFC 9113, section 6.8): streams under way
  *   finish, new ones need another connection, and the client closes it after the last one
  * @param goAwayAfter at what age, by the real clock, a connection gets GOAWAY
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/building-enhanced-consumers-api.html SubscribeToShard over HTTP/2]]
  */
final case class HttpBehavior(
    maxConcurrentStreams: Int = 10000,
    goAwayAfterStreams: Option[Int] = None,
    goAwayAfter: Option[FiniteDuration] = None
) {
  require(maxConcurrentStreams > 0, s"maxConcurrentStreams is $maxConcurrentStreams and must be 1 at least")
  require(goAwayAfterStreams.forall(_ > 0), s"goAwayAfterStreams is $goAwayAfterStreams and must be 1 at least")
}

object HttpBehavior {

  /** As a service behind load balancers. Its own limits it does not say. */
  val realistic: HttpBehavior =
    HttpBehavior(maxConcurrentStreams = 20, goAwayAfterStreams = Some(200), goAwayAfter = Some(1.minute))
}
