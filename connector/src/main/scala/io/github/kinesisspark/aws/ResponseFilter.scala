package io.github.kinesisspark.aws

import java.nio.ByteBuffer
import java.util.Optional

import scala.jdk.OptionConverters._

import org.reactivestreams.{Publisher, Subscriber, Subscription}
import software.amazon.awssdk.awscore.{AwsRequest, AwsRequestOverrideConfiguration}
import software.amazon.awssdk.core.interceptor.{Context, ExecutionAttribute, ExecutionAttributes, ExecutionInterceptor}
import software.amazon.awssdk.http.SdkHttpResponse

/** Stands between the network and the SDK's decoder of one call: it sees the bytes of the answer, and says what the decoder sees. */
trait ResponseFilter {
  def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer]
}

object ResponseFilter {
  private val Attribute = new ExecutionAttribute[ResponseFilter]("io.github.kinesisspark.ResponseFilter")

  /** Of a request whose answer's bytes go through `gate`. */
  def configuration(gate: ResponseFilter): AwsRequestOverrideConfiguration.Builder =
    AwsRequestOverrideConfiguration.builder.putExecutionAttribute(Attribute, gate)

  /** For who stands in for the SDK. */
  private[kinesisspark] def of(request: AwsRequest): Option[ResponseFilter] =
    request.overrideConfiguration.toScala.flatMap(o => Option(o.executionAttributes.getAttribute(Attribute)))

  /** Every client has it. Answers of requests without a gate are limited, because the SDK keeps them whole. */
  private[kinesisspark] object Interceptor extends ExecutionInterceptor {
    override def modifyAsyncHttpResponseContent(
        context: Context.ModifyHttpResponse,
        attributes: ExecutionAttributes
    ): Optional[Publisher[ByteBuffer]] = {
      val gate = Option(attributes.getAttribute(Attribute)).getOrElse(Limited)
      context.responsePublisher.map[Publisher[ByteBuffer]](gate.through(context.httpResponse, _))
    }
  }

  /** GetRecords gives 10 MiB of data and 10,000 keys of up to 1 KiB, which JSON makes a third more of; no other answer is as large. */
  private[aws] val Largest: Long = 64L << 20

  /** Ends an answer that is longer with a [[DamagedAnswer]]. */
  object Limited extends ResponseFilter {
    override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] =
      to => bytes.subscribe(new LimitedSubscriber(to, Largest))
  }

  private[aws] final class LimitedSubscriber(to: Subscriber[? >: ByteBuffer], limit: Long)
      extends Subscriber[ByteBuffer] {
    private var source = Option.empty[Subscription]
    private var left   = limit

    override def onSubscribe(subscription: Subscription): Unit = {
      source = Some(subscription)
      to.onSubscribe(subscription)
    }

    override def onNext(bytes: ByteBuffer): Unit = if (left >= 0) {
      left -= bytes.remaining
      if (left >= 0) to.onNext(bytes)
      else {
        source.foreach(_.cancel())
        to.onError(new DamagedAnswer(s"It is longer than $limit bytes"))
      }
    }

    override def onError(failure: Throwable): Unit = if (left >= 0) to.onError(failure)
    override def onComplete(): Unit                = if (left >= 0) to.onComplete()
  }
}
