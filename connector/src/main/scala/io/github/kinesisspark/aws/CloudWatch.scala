package io.github.kinesisspark.aws

import java.net.{URI, URLEncoder}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Clock, Instant, ZoneOffset}
import java.util.Optional
import java.util.concurrent.{CompletableFuture, TimeoutException}

import scala.concurrent.duration._

import org.reactivestreams.{Publisher, Subscriber, Subscription}
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}
import software.amazon.awssdk.core.async.AsyncRequestBody
import software.amazon.awssdk.http.{ContentStreamProvider, SdkHttpMethod, SdkHttpRequest, SdkHttpResponse}
import software.amazon.awssdk.http.async.{AsyncExecuteRequest, SdkAsyncHttpResponseHandler, SdkHttpContentPublisher}
import software.amazon.awssdk.http.auth.aws.signer.{AwsV4FamilyHttpSigner, AwsV4HttpSigner}
import software.amazon.awssdk.http.auth.spi.signer.{HttpSigner, SignRequest}
import software.amazon.awssdk.identity.spi.{AwsCredentialsIdentity, ResolveIdentityRequest}

import io.github.kinesisspark.config.ClientOptions
import io.github.kinesisspark.runtime.{Closing, Runtime}

/** PutMetricData, one call for all values of a moment. Made of the SDK's HTTP client, credentials and signer, with the connection that all other
  * calls have: the SDK's module for CloudWatch would add a megabyte to the JAR for this one form.
  *
  * @param region   whose CloudWatch it is
  * @param endpoint instead of the machine's for CloudWatch, or the region's own
  * @see [[https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html PutMetricData]]
  */
private[kinesisspark] final class CloudWatch(options: ClientOptions, region: String, endpoint: Option[URI])(implicit
    runtime: Runtime
) extends AutoCloseable {
  import CloudWatch._

  private val address = endpoint.getOrElse(Endpoints.ofCloudWatch(options, region))
  private val http    = ClientKind.Calls.http(Some(address), options.connection).build()
  private val threads = runtime.workers.growing("kinesis-credentials")
  private val cache   = CredentialsCache(options.credentials, region, options.connection, None, threads)
  private val signer  = AwsV4HttpSigner.create()

  /** How far the service's clock is ahead of this machine's, by the last answer. The service refuses a signature whose time differs by more than 5 minutes. */
  @volatile private var skewMillis = 0L

  /** Blocks. Each attempt has the values of its own moment.
    *
    * @param within time for all attempts
    * @throws KinesisException of the fault's class, once retrying has ended
    */
  def publish(
      namespace: String,
      dimensions: Seq[(String, String)],
      within: FiniteDuration,
      observer: CallObserver
  )(values: => Seq[(String, Long)]): Unit = {
    val calls = BlockingCalls(options.retries, () => true, observer)
    calls.call(AwsCall.PutMetricData, s"namespace $namespace", Some(calls.deadline(within)))(
      put(namespace, dimensions, values)
    ): Unit
  }

  private def put(namespace: String, dimensions: Seq[(String, String)], values: Seq[(String, Long)]) =
    cache.before { () =>
      val body = form(namespace, dimensions, values).getBytes(UTF_8)
      cache.resolveIdentity(ResolveIdentityRequest.builder().build()).thenCompose(send(_, body))
    }

  override def close(): Unit = Closing.all(http, cache)

  private def send(identity: AwsCredentialsIdentity, body: Array[Byte]): CompletableFuture[Void] = {
    val request = SdkHttpRequest
      .builder()
      .method(SdkHttpMethod.POST)
      .uri(address)
      .encodedPath("/")
      .putHeader("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
      .putHeader("Content-Length", body.length.toString)
      .putHeader("User-Agent", (Seq("kinesis-spark") ++ options.connection.applicationId.map("app/" + _)).mkString(" "))
      .build()
    val now    = Clock.fixed(Instant.ofEpochMilli(runtime.clock.millis() + skewMillis), ZoneOffset.UTC)
    val signed = signer.sign { (r: SignRequest.Builder[AwsCredentialsIdentity]) =>
      r.identity(identity)
        .request(request)
        .payload(ContentStreamProvider.fromByteArray(body))
        .putProperty(AwsV4FamilyHttpSigner.SERVICE_SIGNING_NAME, "monitoring")
        .putProperty(AwsV4HttpSigner.REGION_NAME, region)
        .putProperty(HttpSigner.SIGNING_CLOCK, now): Unit
    }
    val answer = new Answer(time => skewMillis = time - runtime.clock.millis())
    val call   = http.execute(
      AsyncExecuteRequest
        .builder()
        .request(signed.request)
        .requestContentPublisher(publisherOf(body))
        .responseHandler(answer)
        .build()
    )
    call.whenComplete((_, e) => if (e != null) answer.result.completeExceptionally(e): Unit): Unit
    val late =
      runtime.timers.schedule(options.retries.attemptTime.toNanos)(
        answer.result.completeExceptionally(new TimeoutException): Unit
      )
    answer.result.whenComplete { (_, e) =>
      late.cancel()
      if (e != null) call.cancel(true): Unit
    }: Unit
    answer.result
  }
}

private[kinesisspark] object CloudWatch {

  /** Of an error; of the answer to a call that was taken nothing is kept. */
  private val MostOfAnswer = 16 << 10

  private[aws] def form(namespace: String, dimensions: Seq[(String, String)], values: Seq[(String, Long)]): String = {
    val data = values.zipWithIndex.flatMap { case ((name, value), i) =>
      val at = s"MetricData.member.${i + 1}"
      Seq(s"$at.MetricName" -> name, s"$at.Value" -> value.toString, s"$at.Unit" -> unitOf(name)) ++
        dimensions.zipWithIndex.flatMap { case ((dimension, of), j) =>
          val place = s"$at.Dimensions.member.${j + 1}"
          Seq(s"$place.Name" -> dimension, s"$place.Value" -> of)
        }
    }
    (Seq("Action" -> AwsCall.PutMetricData.toString, "Version" -> "2010-08-01", "Namespace" -> namespace) ++ data)
      .map { case (name, value) =>
        s"$name=${URLEncoder.encode(value, UTF_8)}"
      }
      .mkString("&")
  }

  private def unitOf(metric: String) = metric.toLowerCase match {
    case name if name.contains("millis") => "Milliseconds"
    case name if name.contains("bytes")  => "Bytes"
    case _                               => "Count"
  }

  private def publisherOf(body: Array[Byte]): SdkHttpContentPublisher = {
    val bytes = AsyncRequestBody.fromBytes(body)
    new SdkHttpContentPublisher {
      override def contentLength(): Optional[java.lang.Long]        = bytes.contentLength
      override def subscribe(to: Subscriber[? >: ByteBuffer]): Unit = bytes.subscribe(to)
    }
  }

  /** Reads an answer on the SDK's threads.
    *
    * @param onTime is given the service's time
    */
  private final class Answer(onTime: Long => Unit) extends SdkAsyncHttpResponseHandler {
    val result                   = new CompletableFuture[Void]
    @volatile private var status = 0

    override def onHeaders(response: SdkHttpResponse): Unit = {
      status = response.statusCode
      ServiceClock.of(response).foreach(onTime)
    }

    override def onError(failure: Throwable): Unit = result.completeExceptionally(failure): Unit

    override def onStream(body: Publisher[ByteBuffer]): Unit = body.subscribe(new Subscriber[ByteBuffer] {
      private val text = new StringBuilder

      override def onSubscribe(subscription: Subscription): Unit = subscription.request(Long.MaxValue)
      override def onNext(bytes: ByteBuffer): Unit               =
        if (text.length < MostOfAnswer) text.append(UTF_8.decode(bytes.duplicate()).toString.take(MostOfAnswer)): Unit
      override def onError(failure: Throwable): Unit = result.completeExceptionally(failure): Unit
      override def onComplete(): Unit                =
        if (status / 100 == 2) result.complete(null): Unit
        else result.completeExceptionally(refusal(status, text.toString)): Unit
    })
  }

  private def refusal(status: Int, body: String): AwsServiceException = {
    def of(tag: String) = s"<$tag>([^<]*)</$tag>".r.findFirstMatchIn(body).map(_.group(1))
    val details         =
      AwsErrorDetails
        .builder()
        .serviceName("CloudWatch")
        .errorCode(of("Code").orNull)
        .errorMessage(of("Message").orNull)
        .build()
    AwsServiceException.builder().statusCode(status).awsErrorDetails(details).build()
  }
}
