package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.{CallRetries, PollingOptions}
import io.github.kinesisspark.position.{ConsumerArn, ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** A publisher between a stub of the service and a sink that remembers what it is given.
  *
  * @param onDelivery runs in the sink, once it has given the memory of the records back
  * @param onWaiting  is called when the publisher waits for memory
  */
final class PublisherScene(
    client: KinesisAsyncClient,
    onDelivery: () => Unit = () => (),
    retries: CallRetries = CallRetries.default,
    onWaiting: () => Unit = () => ()
)(implicit runtime: Runtime = JvmRuntime.runtime)
    extends AutoCloseable {
  val memory                                       = new MemoryBudget(_.run())
  private val account                              = memory.join(64L << 20).account(onWaiting)
  @volatile var deliveries: Vector[Delivery]       = Vector.empty
  @volatile var failures: Vector[KinesisException] = Vector.empty
  private lazy val worker: Worker                  = runtime.workers.fixed("publisher-scene", 2)
  private def access = ReadingClient(client, retries, isAws = false, () => deliveries.nonEmpty, () => ())
  private val starts = new StartSchedule(1.nano)
  val pollers: PollingPublisherFactory =
    new PollingPublisherFactory(
      _ => access,
      worker,
      new ReaderTelemetry,
      starts = None,
      PollingOptions.Default
    )

  object sink extends Sink {
    override def memory: MemoryBudget.Account      = account
    override def deliver(delivery: Delivery): Unit = {
      account.giveBack(delivery.totals.heap)
      onDelivery()
      deliveries :+= delivery
    }
    override def fail(cause: KinesisException): Unit = failures :+= cause
  }

  object sources extends ShardConsumer.Sources {
    private val member                                            = memory.join(64L << 20)
    override def first(range: ShardRange): ShardConsumer.Source   = polling(range)
    override def polling(range: ShardRange): ShardConsumer.Source = ShardConsumer.Source.poller(
      new ShardReader(range.shard, range.start, Some(range.end), pollers, member, _ => (), () => ())
    )
    override def isGone(shard: ShardKey): Boolean                                = false
    override def readAgain(shard: ShardKey, records: Array[KinesisRecord]): Unit = ()
  }

  def polling(): RecordPublisher = pollers.open(shard(0), ShardPosition.TrimHorizon, sink)

  def fanOut(): RecordPublisher = {
    val consumer = ConsumerArn(s"${stream.text}/consumer/it:1600000000")
    FanOutRecordPublisher
      .factory(
        ResolvedPublisher.FanOut(Map(stream -> consumer)),
        _ => access,
        worker,
        new ReaderTelemetry,
        starts,
        pollers,
        isNamedSince = (_, _) => true
      )
      .open(shard(0), ShardPosition.TrimHorizon, sink)
  }

  override def close(): Unit = worker.close()
}
