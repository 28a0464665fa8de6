package io.github.kinesisspark.aws

import java.nio.ByteBuffer
import java.util.Optional

import org.reactivestreams.Publisher
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration
import software.amazon.awssdk.core.interceptor.{Context, ExecutionAttribute, ExecutionAttributes, ExecutionInterceptor}
import software.amazon.awssdk.http.SdkHttpResponse

/** Stands between the network and the SDK's decoder of one call: it sees the bytes of the answer, and says what the decoder sees. */
trait AnswerBytes {
  def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer]
}

object AnswerBytes {
  private val Attribute = new ExecutionAttribute[AnswerBytes]("io.github.kinesisspark.AnswerBytes")

  /** Of a request whose answer's bytes go through `gate`. */
  def configuration(gate: AnswerBytes): AwsRequestOverrideConfiguration.Builder =
    AwsRequestOverrideConfiguration.builder.putExecutionAttribute(Attribute, gate)

  /** Every client has it. */
  private[aws] object Interceptor extends ExecutionInterceptor {
    override def modifyAsyncHttpResponseContent(
        context: Context.ModifyHttpResponse,
        attributes: ExecutionAttributes
    ): Optional[Publisher[ByteBuffer]] =
      Option(attributes.getAttribute(Attribute))
        .fold(context.responsePublisher)(gate =>
          context.responsePublisher.map[Publisher[ByteBuffer]](gate.through(context.httpResponse, _))
        )
  }
}
