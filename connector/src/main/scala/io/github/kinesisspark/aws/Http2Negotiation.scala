package io.github.kinesisspark.aws

import java.nio.ByteBuffer
import java.util.Locale
import java.util.concurrent.CompletableFuture
import javax.net.ssl.SSLException

import org.reactivestreams.Publisher
import org.slf4j.LoggerFactory
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.http.async.{AsyncExecuteRequest, SdkAsyncHttpClient, SdkAsyncHttpResponseHandler}
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient
import software.amazon.awssdk.utils.AttributeMap

/** Finds out how a server behind TLS agrees on HTTP/2. A call asks for it by ALPN. Where the server ignores that, or refuses the
  * handshake because of it, the same call and later ones use HTTP/2 by prior knowledge, over connections that don't mention ALPN, until such a call
  * fails before it is answered: the refusal may have been of one server of several. So no list of hosts is needed. Any thread may call it.
  *
  * @param prior made when it is needed
  */
private[aws] final class Http2Negotiation(alpn: SdkAsyncHttpClient, prior: () => SdkAsyncHttpClient)
    extends SdkAsyncHttpClient {
  import Http2Negotiation._

  private val log = LoggerFactory.getLogger(classOf[Http2Negotiation])

  /** Made when it is needed first. */
  private var withoutAlpn = Option.empty[SdkAsyncHttpClient]

  /** Calls don't ask for ALPN. */
  @volatile private var knowsPrior = false

  override def execute(request: AsyncExecuteRequest): CompletableFuture[Void] = {
    val result = new CompletableFuture[Void]
    if (knowsPrior) byPriorKnowledge(request, result)
    else
      follow(alpn.execute(withHandler(request, new Watched(request.responseHandler, isAboutAlpn))), result) { failure =>
        // Nothing of the request was sent.
        if (isAboutAlpn(failure) && !result.isDone) byPriorKnowledge(request, result)
        else result.completeExceptionally(failure): Unit
      }
    result
  }

  private def byPriorKnowledge(request: AsyncExecuteRequest, result: CompletableFuture[Void]): Unit = {
    val handler = new Watched(request.responseHandler, isHidden = _ => false)
    try
      follow(fallBack(request).execute(withHandler(request, handler)), result) { failure =>
        if (!handler.isAnswered) knowsPrior = false
        result.completeExceptionally(failure): Unit
      }
    catch {
      // The other client can't be made, as where its CA bundle is gone. A callback's exception would be nobody's.
      case e: Throwable =>
        handler.onError(e)
        result.completeExceptionally(e): Unit
    }
  }

  override def clientName(): String = alpn.clientName()

  override def close(): Unit = {
    synchronized(withoutAlpn).foreach(_.close())
    alpn.close()
  }

  private def fallBack(request: AsyncExecuteRequest): SdkAsyncHttpClient = synchronized {
    knowsPrior = true
    withoutAlpn.getOrElse {
      log.info("The server has no ALPN, HTTP/2 is used without it: host={}", request.request.host)
      val made = prior()
      withoutAlpn = Some(made)
      made
    }
  }
}

private[aws] object Http2Negotiation {

  /** @param prior made when it is needed */
  def builder(alpn: HttpBuilder, prior: => HttpBuilder): HttpBuilder = new HttpBuilder(defaults =>
    new Http2Negotiation(alpn.buildWithDefaults(defaults), () => prior.buildWithDefaults(defaults))
  )

  /** The server refuses what ALPN asks for by the alert of RFC 7301, or ignores it, which the SDK puts so. */
  private[aws] def isAboutAlpn(failure: Throwable): Boolean = FaultClassifier.causes(failure).exists {
    // In the words of the JDK, or of OpenSSL.
    case e: SSLException                  => says(e, "no_application_protocol")
    case e: UnsupportedOperationException => says(e, "does not support alpn")
    case _                                => false
  }

  private def says(failure: Throwable, text: String) =
    Option(failure.getMessage).exists(_.toLowerCase(Locale.ROOT).contains(text))

  /** Knows whether an answer has begun.
    *
    * @param isHidden failures that the SDK doesn't see, as the call is made again
    */
  private final class Watched(handler: SdkAsyncHttpResponseHandler, isHidden: Throwable => Boolean)
      extends SdkAsyncHttpResponseHandler {
    @volatile var isAnswered = false

    override def onHeaders(response: SdkHttpResponse): Unit = {
      isAnswered = true
      handler.onHeaders(response)
    }
    override def onStream(body: Publisher[ByteBuffer]): Unit = handler.onStream(body)
    override def onError(failure: Throwable): Unit           = if (!isHidden(failure)) handler.onError(failure)
  }

  private def withHandler(request: AsyncExecuteRequest, handler: SdkAsyncHttpResponseHandler): AsyncExecuteRequest = {
    val builder = AsyncExecuteRequest
      .builder()
      .request(request.request)
      .requestContentPublisher(request.requestContentPublisher)
      .responseHandler(handler)
      .fullDuplex(request.fullDuplex)
      .httpExecutionAttributes(request.httpExecutionAttributes)
    request.metricCollector.ifPresent(builder.metricCollector(_): Unit)
    builder.build()
  }

  /** Ends the result as the call ends, and cancels the call when the result is cancelled. */
  private def follow(
      call: CompletableFuture[Void],
      result: CompletableFuture[Void]
  )(failed: Throwable => Unit): Unit = {
    call.whenComplete((_, failure) => if (failure == null) result.complete(null): Unit else failed(failure))
    result.whenComplete((_, failure) => if (failure != null) call.completeExceptionally(failure): Unit): Unit
  }
}

/** How a client's HTTP is made.
  *
  * @param make gets what the service's client asks for where nothing else is said
  */
private[aws] final class HttpBuilder(make: AttributeMap => SdkAsyncHttpClient)
    extends SdkAsyncHttpClient.Builder[HttpBuilder] {
  override def buildWithDefaults(defaults: AttributeMap): SdkAsyncHttpClient = make(defaults)
}

private[aws] object HttpBuilder {
  def apply(netty: NettyNioAsyncHttpClient.Builder): HttpBuilder = new HttpBuilder(netty.buildWithDefaults)
}
