package io.github.kinesisspark.testkit

import software.amazon.eventstream.Message

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.ByteBuffer
import java.security.cert.Certificate
import java.util
import java.util.concurrent.{Flow, LinkedBlockingQueue, TimeUnit}
import scala.annotation.tailrec

/** Subscriptions without an SDK, over TLS and HTTP/2, all on one connection. The SDK's client takes 2 MiB for each, which
  * is too much for a thousand of them in a test.
  */
final class RawSubscriptions(endpoint: URI, trusted: Certificate) {
  private val http =
    HttpClient.newBuilder.version(HttpClient.Version.HTTP_2).sslContext(ClientTls.trusting(trusted)).build()

  def subscribe(consumerArn: String, shardId: String): RawSubscriptions.Live = {
    val request = HttpRequest
      .newBuilder(endpoint)
      .header("X-Amz-Target", "Kinesis_20131202.SubscribeToShard")
      .header("Content-Type", "application/x-amz-json-1.1")
      .POST(
        HttpRequest.BodyPublishers.ofString(
          s"""{"ConsumerARN":"$consumerArn","ShardId":"$shardId","StartingPosition":{"Type":"TRIM_HORIZON"}}"""
        )
      )
      .build()
    val live = new RawSubscriptions.Live
    http.sendAsync(request, HttpResponse.BodyHandlers.fromSubscriber(live))
    live
  }
}

object RawSubscriptions {

  /** One subscription's messages, in order. */
  final class Live extends Flow.Subscriber[util.List[ByteBuffer]] {
    private val messages                            = new LinkedBlockingQueue[Message]
    private var rest                                = Array.empty[Byte]
    @volatile private var demand: Flow.Subscription = _

    def next(): Message = Option(messages.poll(20, TimeUnit.SECONDS)).getOrElse(sys.error("Nothing came"))
    def cancel(): Unit  = demand.cancel()

    def onSubscribe(s: Flow.Subscription): Unit    = { demand = s; s.request(Long.MaxValue) }
    def onNext(parts: util.List[ByteBuffer]): Unit = parts.forEach { part =>
      val bytes = new Array[Byte](part.remaining)
      part.get(bytes)
      rest ++= bytes
      split()
    }
    def onError(cause: Throwable): Unit = ()
    def onComplete(): Unit              = ()

    @tailrec private def split(): Unit = if (rest.length >= 4) {
      val length = ByteBuffer.wrap(rest).getInt
      if (rest.length >= length) {
        messages.add(Message.decode(ByteBuffer.wrap(rest, 0, length)))
        rest = rest.drop(length)
        split()
      }
    }
  }
}
