package io.github.kinesisspark.fuzz

import java.io.ByteArrayInputStream
import java.util
import java.util.function.Supplier

import scala.util.Try

import software.amazon.awssdk.core.SdkPojo
import software.amazon.awssdk.core.client.config.SdkClientConfiguration
import software.amazon.awssdk.core.interceptor.ExecutionAttributes
import software.amazon.awssdk.http.{AbortableInputStream, SdkHttpFullResponse}
import software.amazon.awssdk.protocols.cbor.AwsCborProtocolFactory
import software.amazon.awssdk.protocols.json.internal.unmarshall.SdkClientJsonProtocolAdvancedOption
import software.amazon.awssdk.protocols.json.{
  AwsJsonProtocol,
  AwsJsonProtocolFactory,
  BaseAwsJsonProtocolFactory,
  JsonOperationMetadata
}
import software.amazon.awssdk.services.kinesis.model.{
  GetRecordsResponse,
  KinesisException,
  Record,
  SubscribeToShardEvent,
  SubscribeToShardEventStream
}

/** The SDK's decoder of one kind of answer, as its Kinesis client makes it, without the client, which takes ten times as long. */
private[fuzz] final class SdkDecoder[A <: SdkPojo](
    factory: BaseAwsJsonProtocolFactory,
    empty: () => SdkPojo,
    records: A => util.List[Record],
    others: A => Any
) {
  private val handler = factory.createResponseHandler[A](
    JsonOperationMetadata.builder.hasStreamingSuccessResponse(false).isPayloadJson(true).build,
    (() => empty()): Supplier[SdkPojo]
  )

  /** A failure where the SDK refuses the body. */
  def read(body: Array[Byte]): Try[A] = Try {
    val content = AbortableInputStream.create(new ByteArrayInputStream(body))
    handler.handle(SdkHttpFullResponse.builder.statusCode(200).content(content).build, new ExecutionAttributes)
  }

  /** The records, and all that is beside them. */
  def decode(body: Array[Byte]): Try[(util.List[Record], Any)] =
    read(body).map(answer => (records(answer), others(answer)))
}

private[fuzz] object SdkDecoder {
  private val configuration = SdkClientConfiguration.builder
    .option(SdkClientJsonProtocolAdvancedOption.ENABLE_FAST_UNMARSHALLER, java.lang.Boolean.TRUE)
    .build

  private def made[B <: BaseAwsJsonProtocolFactory.Builder[B]](builder: B): B =
    builder
      .clientConfiguration(configuration)
      .defaultServiceExceptionSupplier(() => KinesisException.builder)
      .protocol(AwsJsonProtocol.AWS_JSON)
      .protocolVersion("1.1")

  private def cbor = made(AwsCborProtocolFactory.builder).build
  private def json = made(AwsJsonProtocolFactory.builder).build

  val answersInCbor: SdkDecoder[GetRecordsResponse] = answers(cbor)
  val answersInJson: SdkDecoder[GetRecordsResponse] = answers(json)

  private def answers(factory: BaseAwsJsonProtocolFactory) = new SdkDecoder[GetRecordsResponse](
    factory,
    () => GetRecordsResponse.builder,
    _.records,
    a => (a.nextShardIterator, a.millisBehindLatest, a.hasChildShards, a.childShards)
  )

  val events: SdkDecoder[SubscribeToShardEvent] = new SdkDecoder[SubscribeToShardEvent](
    json,
    () => SubscribeToShardEventStream.subscribeToShardEventBuilder,
    _.records,
    e => (e.continuationSequenceNumber, e.millisBehindLatest, e.hasChildShards, e.childShards)
  )
}
