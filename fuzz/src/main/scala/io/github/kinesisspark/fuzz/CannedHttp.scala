package io.github.kinesisspark.fuzz

import java.nio.ByteBuffer
import java.util.concurrent.{CompletableFuture, Executor}

import scala.jdk.CollectionConverters._

import org.reactivestreams.{Publisher, Subscriber, Subscription}
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.core.client.config.SdkAdvancedAsyncClientOption
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.http.async.{AsyncExecuteRequest, SdkAsyncHttpClient}
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.aws.ResponseFilter

/** The SDK's way from an HTTP answer to its values, without a network: answers are made up, and all of it runs on the calling
  * thread.
  */
final class CannedHttp extends SdkAsyncHttpClient {

  /** To a call of an action, from now on. */
  var answer: String => Answer = _ => Answer.ok(Array.emptyByteArray)

  override def execute(request: AsyncExecuteRequest): CompletableFuture[Void] = {
    val action = request.request.firstMatchingHeader("X-Amz-Target").orElse("").split('.').last
    val canned = answer(action)
    val done   = new CompletableFuture[Void]
    request.responseHandler.onHeaders(canned.head)
    request.responseHandler.onStream(new CannedHttp.Body(canned, request.responseHandler.onError(_), done))
    done
  }

  override def close(): Unit = ()

  /** As the connector's own clients are: it doesn't retry, has no limit on the time of a call, and lets answers through the connector's readers. */
  lazy val client: KinesisAsyncClient = KinesisAsyncClient.builder
    .region(Region.EU_WEST_1)
    .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
    .httpClient(this)
    .asyncConfiguration { a =>
      val _ =
        a.advancedOption(SdkAdvancedAsyncClientOption.FUTURE_COMPLETION_EXECUTOR, ((r: Runnable) => r.run()): Executor)
    }
    .overrideConfiguration { o =>
      val _ = o.retryStrategy(AwsRetryStrategy.doNotRetry()).addExecutionInterceptor(ResponseFilter.Interceptor)
    }
    .build
}

/** One answer.
  *
  * @param parts   its body, as it comes in
  * @param isWhole whether it ends as it should; or else the connection breaks
  */
final case class Answer(
    status: Int,
    headers: Map[String, String],
    parts: Vector[Array[Byte]],
    isWhole: Boolean = true
) {
  def head: SdkHttpResponse =
    SdkHttpResponse.builder.statusCode(status).headers(headers.map { case (k, v) => k -> List(v).asJava }.asJava).build
}

object Answer {
  private val Cbor  = "application/x-amz-cbor-1.1"
  private val Date  = "Date" -> "Sat, 21 Nov 2026 08:00:00 GMT"
  private val Codes = Vector(200, 200, 200, 200, 200, 400, 403, 413, 429, 500, 503, 204, 301)
  private val Said  = Vector(
    "",
    "ProvisionedThroughputExceededException",
    "ExpiredIteratorException",
    "ResourceNotFoundException",
    "InvalidArgumentException:http://x/",
    "ExpiredNextTokenException"
  )

  def ok(body: Array[Byte]): Answer = Answer(200, Map("Content-Type" -> Cbor, Date), Vector(body))

  /** The first two bytes say which answer it is and how it comes; the rest is its body. */
  def of(input: Array[Byte], contentType: String = Cbor): Answer = {
    val (kind, way, body) = (input(0) & 0xff, input(1) & 0xff, input.drop(2))
    val status            = Codes(kind % Codes.size)
    val said              = Said(way % Said.size)
    val error             = if (status >= 400 && said.nonEmpty) Map("x-amzn-ErrorType" -> said) else Map.empty
    val most              = if (way < 128) body.length.max(1) else 1 + way - 128
    Answer(
      status,
      Map("Content-Type" -> contentType, "x-amzn-RequestId" -> "r-1", Date) ++ error,
      body.grouped(most).toVector,
      isWhole = kind < 200
    )
  }
}

object CannedHttp {

  /** Gives a part for each that is asked for. */
  private final class Body(answer: Answer, fail: Throwable => Unit, done: CompletableFuture[Void])
      extends Publisher[ByteBuffer] {
    override def subscribe(to: Subscriber[_ >: ByteBuffer]): Unit = to.onSubscribe(new Subscription {
      private var left   = answer.parts
      private var wanted = 0L
      private var isBusy = false
      private var isOver = false

      override def request(n: Long): Unit = {
        wanted = if (wanted + n < 0) Long.MaxValue else wanted + n
        if (!isBusy) {
          isBusy = true
          while (!isOver && wanted > 0 && left.nonEmpty) {
            val part = left.head
            left = left.tail
            wanted -= 1
            to.onNext(ByteBuffer.wrap(part))
          }
          if (!isOver && left.isEmpty) end()
          isBusy = false
        }
      }

      private def end(): Unit = {
        isOver = true
        if (answer.isWhole) {
          to.onComplete()
          done.complete(null): Unit
        } else {
          val cut = new java.io.IOException("Connection reset by peer")
          to.onError(cut)
          fail(cut)
          done.completeExceptionally(cut): Unit
        }
      }

      override def cancel(): Unit = isOver = true
    })
  }
}
