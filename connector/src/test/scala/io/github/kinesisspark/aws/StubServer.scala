package io.github.kinesisspark.aws

import java.net.{InetAddress, InetSocketAddress, URI}
import java.util.concurrent.{ConcurrentLinkedQueue, Executors}

import com.sun.net.httpserver.{HttpExchange, HttpServer}

import scala.jdk.CollectionConverters._

/** A loopback HTTP/1.1 server that remembers requests and answers what a test says. No Kinesis: for the way there and back. */
final class StubServer(answer: (StubServer.Request, Int) => StubServer.Answer) extends AutoCloseable {
  import StubServer._

  private val seen    = new ConcurrentLinkedQueue[Request]
  private val threads = Executors.newCachedThreadPool()
  private val server  = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress, 0), 0)
  server.setExecutor(threads)
  server.createContext("/", exchange => handle(exchange))
  server.start()

  def endpoint: URI          = new URI(s"http://127.0.0.1:${server.getAddress.getPort}")
  def requests: Seq[Request] = seen.asScala.toSeq

  private def handle(exchange: HttpExchange): Unit = {
    val headers = exchange.getRequestHeaders.asScala.map { case (k, v) => k.toLowerCase -> v.get(0) }.toMap
    val request = Request(exchange.getProtocol, headers, new String(exchange.getRequestBody.readAllBytes(), "UTF-8"))
    val index   = synchronized { seen.add(request); seen.size - 1 }
    val reply   = answer(request, index)
    reply.headers.foreach { case (k, v) => exchange.getResponseHeaders.set(k, v) }
    exchange.sendResponseHeaders(reply.status, if (reply.body.isEmpty) -1 else reply.body.length.toLong)
    exchange.getResponseBody.write(reply.body)
    exchange.close()
  }

  override def close(): Unit = {
    server.stop(0)
    threads.shutdownNow()
    ()
  }
}

object StubServer {
  final case class Request(protocol: String, headers: Map[String, String], body: String)
  final case class Answer(
      status: Int,
      body: Array[Byte] = Array.emptyByteArray,
      headers: Map[String, String] = Map.empty
  )

  /** A result without fields, in the service's own encoding: CBOR's empty map. */
  val Empty: Answer = Answer(200, Array(0xa0.toByte), Map("Content-Type" -> "application/x-amz-cbor-1.1"))

  def error(status: Int, code: String, headers: (String, String)*): Answer =
    Answer(
      status,
      Array(0xa0.toByte),
      Map("Content-Type" -> "application/x-amz-cbor-1.1", "x-amzn-ErrorType" -> code) ++ headers
    )
}
