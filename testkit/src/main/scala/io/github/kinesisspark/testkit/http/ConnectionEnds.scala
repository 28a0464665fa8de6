package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.HttpBehavior
import org.eclipse.jetty.http2.{HTTP2Connection, HTTP2Session}
import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.server.{Handler, Request, Response}
import org.eclipse.jetty.util.Callback

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

/** Sends GOAWAY to HTTP/2 connections that have carried enough streams or are old enough. It counts the requests that
  * pass through it, and listens to connections that open and close. Jetty's threads call it.
  */
final private[http] class ConnectionEnds(behavior: HttpBehavior, next: Handler)
    extends Handler.Wrapper(next)
    with Connection.Listener {

  private val streams = new ConcurrentHashMap[HTTP2Session, AtomicInteger]

  override def onOpened(connection: Connection): Unit = connection match {
    case http2: HTTP2Connection =>
      streams.put(http2.getSession, new AtomicInteger)
      behavior.goAwayAfter.foreach { age =>
        getServer.getScheduler.schedule(() => goAway(http2.getSession), age.toMillis, TimeUnit.MILLISECONDS)
      }
    case _ => ()
  }

  override def onClosed(connection: Connection): Unit = connection match {
    case http2: HTTP2Connection => streams.remove(http2.getSession); ()
    case _                      => ()
  }

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    request.getConnectionMetaData.getConnection match {
      case http2: HTTP2Connection =>
        val carried = Option(streams.get(http2.getSession)).fold(0)(_.incrementAndGet())
        if (behavior.goAwayAfterStreams.contains(carried)) goAway(http2.getSession)
      case _ => ()
    }
    super.handle(request, response, callback)
  }

  // Once no stream is left, Jetty sends a second GOAWAY, with the last stream's number, and the client closes.
  private def goAway(session: HTTP2Session): Unit = { session.shutdown(); () }
}
