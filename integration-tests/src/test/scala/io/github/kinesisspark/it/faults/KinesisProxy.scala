package io.github.kinesisspark.it.faults

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.ByteBuffer
import java.util
import java.util.concurrent.Flow

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server._
import org.eclipse.jetty.util.Callback
import software.amazon.eventstream.{HeaderValue, Message}

import io.github.kinesisspark.testkit.{ClientTls, KinesisServer}

/** A reverse proxy before an embedded server with a TLS port. Clients connect in cleartext, by HTTP/1.1 or HTTP/2. It does
  * what the embedded server can't: it refuses calls by their access key, and it says in a subscription what no service should.
  *
  * @param refuse  the error code instead of an answer; called on Jetty's threads
  * @param rewrite makes a function for each answer of SubscribeToShard, which says what is sent instead of each message; one
  *   thread calls it at a time
  */
final class KinesisProxy(
    server: KinesisServer,
    refuse: KinesisProxy.Call => Option[String] = _ => None,
    rewrite: () => Message => Seq[Message] = () => Seq(_)
) extends AutoCloseable {
  import KinesisProxy._

  private val target = server.tlsEndpoint.getOrElse(throw new IllegalArgumentException("the server has no TLS port"))
  private val http   = HttpClient.newBuilder
    .version(HttpClient.Version.HTTP_2)
    .sslContext(ClientTls.trusting(server.tlsCertificate.get))
    .build()

  private val jetty     = new Server()
  private val connector = {
    val plain = new HttpConfiguration
    plain.setSendDateHeader(false) // The server's own comes through.
    new ServerConnector(jetty, new HttpConnectionFactory(plain), new HTTP2CServerConnectionFactory(plain))
  }
  connector.setHost("127.0.0.1")
  connector.setIdleTimeout(10 * 60 * 1000L)
  jetty.addConnector(connector)
  jetty.setHandler(new Front)
  jetty.start()

  val endpoint: URI = URI.create(s"http://127.0.0.1:${connector.getLocalPort}")

  override def close(): Unit = jetty.stop()

  private final class Front extends Handler.Abstract {
    override def handle(request: Request, response: Response, callback: Callback): Boolean = {
      val body = bytesOf(Content.Source.asByteBuffer(request))
      val call = Call.of(request)
      refuse(call) match {
        case Some(code) =>
          response.setStatus(400)
          response.getHeaders.put("x-amzn-ErrorType", code)
          response.getHeaders.put("Content-Type", request.getHeaders.get("Content-Type"))
          response.write(true, ByteBuffer.wrap(emptyBody(request.getHeaders.get("Content-Type"))), callback)
        case None => forward(call, request, body, response, callback)
      }
      true
    }

    private def forward(
        call: Call,
        request: Request,
        body: Array[Byte],
        response: Response,
        callback: Callback
    ): Unit = {
      val onward = HttpRequest.newBuilder(target).POST(HttpRequest.BodyPublishers.ofByteArray(body))
      for (field <- request.getHeaders.asScala if !OfTheConnection(field.getName.toLowerCase))
        onward.header(field.getName, field.getValue)
      val _ = http.sendAsync(onward.build(), HttpResponse.BodyHandlers.ofPublisher()).whenComplete { (answer, failure) =>
        if (failure != null) callback.failed(failure)
        else {
          response.setStatus(answer.statusCode)
          for {
            (name, values) <- answer.headers.map.asScala
            value          <- values.asScala if !name.startsWith(":") && !OfTheConnection(name.toLowerCase)
          } response.getHeaders.add(name, value)
          val messages =
            Option.when(call.action == "SubscribeToShard" && answer.statusCode == 200)(new Messages(rewrite()))
          answer.body.subscribe(new Relay(request, response, callback, part => messages.fold(part)(_.rewritten(part))))
        }
      }
    }
  }
}

object KinesisProxy {

  /** @param accessKeyId of the credentials that have signed the call */
  final case class Call(action: String, accessKeyId: String)

  object Call {
    private[KinesisProxy] def of(request: Request): Call = {
      def header(name: String) = Option(request.getHeaders.get(name)).getOrElse("")
      Call(
        header("X-Amz-Target").split('.').last,
        header("Authorization").split("Credential=").last.takeWhile(_ != '/')
      )
    }
  }

  /** An error inside a subscription, encoded as `like` is. */
  def exception(code: String, like: Message): Message = {
    val format  = like.getHeaders.get(":content-type").getString
    val headers = Map(":message-type" -> "exception", ":exception-type" -> code, ":content-type" -> format)
    new Message(headers.view.mapValues(HeaderValue.fromString(_)).toMap.asJava, emptyBody(format))
  }

  def isEvent(message: Message): Boolean =
    Option(message.getHeaders.get(":event-type")).exists(_.getString == "SubscribeToShardEvent")

  // What belongs to one connection, or is written by whoever sends.
  private val OfTheConnection =
    Set("host", "connection", "content-length", "transfer-encoding", "upgrade", "expect", "http2-settings")

  private def emptyBody(contentType: String): Array[Byte] =
    if (contentType.contains("cbor")) Array(0xa0.toByte) else "{}".getBytes

  private def bytesOf(buffer: ByteBuffer): Array[Byte] = {
    val bytes = new Array[Byte](buffer.remaining)
    buffer.get(bytes)
    bytes
  }

  /** The messages of one answer, which come in parts of any length. */
  private final class Messages(rewrite: Message => Seq[Message]) {
    private var rest = Array.empty[Byte]

    def rewritten(part: Array[Byte]): Array[Byte] = {
      rest ++= part
      split(Array.empty)
    }

    @tailrec private def split(done: Array[Byte]): Array[Byte] = {
      val length = if (rest.length < 4) Int.MaxValue else ByteBuffer.wrap(rest).getInt
      if (rest.length < length) done
      else {
        val message = Message.decode(ByteBuffer.wrap(rest, 0, length))
        rest = rest.drop(length)
        split(done ++ rewrite(message).flatMap(m => bytesOf(m.toByteBuffer)))
      }
    }
  }

  /** Writes an answer on, one part after the other, as fast as the client takes them. */
  private final class Relay(
      request: Request,
      response: Response,
      callback: Callback,
      change: Array[Byte] => Array[Byte]
  ) extends Flow.Subscriber[util.List[ByteBuffer]] {
    @volatile private var flow: Flow.Subscription = _

    override def onSubscribe(opened: Flow.Subscription): Unit = {
      flow = opened
      request.addFailureListener(_ => opened.cancel())
      opened.request(1)
    }

    override def onNext(parts: util.List[ByteBuffer]): Unit = {
      val out = change(parts.asScala.iterator.flatMap(part => bytesOf(part)).toArray)
      if (out.isEmpty) flow.request(1)
      else
        response.write(
          false,
          ByteBuffer.wrap(out),
          Callback.from(() => flow.request(1), (_: Throwable) => flow.cancel())
        )
    }

    override def onError(failure: Throwable): Unit = callback.failed(failure)
    override def onComplete(): Unit                = response.write(true, ByteBuffer.allocate(0), callback)
  }
}
