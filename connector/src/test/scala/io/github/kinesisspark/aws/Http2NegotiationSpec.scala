package io.github.kinesisspark.aws

import java.net.URI
import java.nio.ByteBuffer
import java.util.concurrent.CompletableFuture
import javax.net.ssl.SSLHandshakeException

import scala.collection.mutable

import org.reactivestreams.Publisher
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.http.{SdkHttpFullResponse, SdkHttpMethod, SdkHttpRequest, SdkHttpResponse}
import software.amazon.awssdk.http.async.{AsyncExecuteRequest, SdkAsyncHttpClient, SdkAsyncHttpResponseHandler}

/** Calls by a client with ALPN and one without, which the test answers. */
final class Http2NegotiationSpec extends AnyFunSpec with Matchers {
  import Http2NegotiationSpec._

  private final class World {
    val made: mutable.Buffer[Call] = mutable.Buffer.empty

    private final class Client(byAlpn: Boolean) extends SdkAsyncHttpClient {
      override def execute(request: AsyncExecuteRequest): CompletableFuture[Void] = {
        val call = Call(byAlpn, request.responseHandler)
        made += call
        call.result
      }
      override def close(): Unit = ()
    }

    var cannotMake: Option[Exception] = None

    private val negotiation = new Http2Negotiation(
      new Client(byAlpn = true),
      () => cannotMake.fold(new Client(byAlpn = false))(throw _)
    )

    def call(): CompletableFuture[Void] = negotiation.execute(
      AsyncExecuteRequest
        .builder()
        .request(SdkHttpRequest.builder().method(SdkHttpMethod.POST).uri(URI.create("https://localhost")).build())
        .responseHandler(Ignoring)
        .build()
    )

    def byAlpn: Seq[Boolean] = made.map(_.byAlpn).toSeq

    /** The call under way. */
    def last: Call = made.last
  }

  /** After a call that the server has refused for its ALPN, and answered without. */
  private def withoutAlpn(): World = {
    val world = new World
    val call  = world.call()
    world.last.fail(Refused)
    world.last.answer()
    world.byAlpn shouldBe Seq(true, false)
    call.isDone shouldBe true
    world.made.clear()
    world
  }

  describe("a server that refuses ALPN") {
    it("gets later calls without it, also after one that failed when its answer had begun") {
      val world  = withoutAlpn()
      val broken = world.call()
      world.last.begin()
      world.last.fail(new java.io.IOException("reset"))
      broken.isCompletedExceptionally shouldBe true
      world.call()
      world.byAlpn shouldBe Seq(false, false)
    }

    it("fails a call whose client without it can't be made with the reason") {
      val world = new World
      world.cannotMake = Some(new IllegalArgumentException("the CA bundle is gone"))
      val call = world.call()
      world.last.fail(Refused)
      the[java.util.concurrent.CompletionException] thrownBy call.join() should have message
        "java.lang.IllegalArgumentException: the CA bundle is gone"
    }

    it("is asked for it again after a call without it has failed unanswered") {
      val world = withoutAlpn()
      world.call()
      world.last.fail(new java.io.IOException("not SETTINGS"))
      world.call()
      world.byAlpn shouldBe Seq(false, true)
      world.last.answer()
      world.call()
      world.byAlpn shouldBe Seq(false, true, true)
    }
  }
}

object Http2NegotiationSpec {
  private val Refused = new SSLHandshakeException("Received fatal alert: no_application_protocol")

  private final case class Call(
      byAlpn: Boolean,
      handler: SdkAsyncHttpResponseHandler,
      result: CompletableFuture[Void] = new CompletableFuture
  ) {
    def begin(): Unit                  = handler.onHeaders(SdkHttpFullResponse.builder().statusCode(200).build())
    def fail(failure: Throwable): Unit = result.completeExceptionally(failure): Unit
    def answer(): Unit                 = {
      begin()
      result.complete(null): Unit
    }
  }

  private object Ignoring extends SdkAsyncHttpResponseHandler {
    override def onHeaders(headers: SdkHttpResponse): Unit     = ()
    override def onStream(stream: Publisher[ByteBuffer]): Unit = ()
    override def onError(error: Throwable): Unit               = ()
  }
}
