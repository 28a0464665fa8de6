package io.github.kinesisspark.bare

import java.net.URI
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicLong

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model._

/** The least that reading a backlog costs with the AWS SDK: its public asynchronous client with its own unmarshaller, in a process without Spark and without
  * this connector. One call or one subscription is open for each shard, there is no pause between calls, and nothing is kept: the loop takes each
  * record's length and last byte.
  *
  * Reads the stream from its oldest record, several times, and prints a line for each reading ([[Cost]]). A reading lasts from the listing of
  * the shards, or from the registration of the stream consumer, until all records are there.
  *
  * Arguments as `name=value`:
  *   - `endpoint`, `stream`, `publisher` (`polling` or `efo`), `records` (how many the stream holds), `times`
  *   - `http` (`1.1` or `2`) and `limit` (records of an answer) for polling
  *   - `window` (bytes of an HTTP/2 stream) for fan-out
  *
  * A server's certificate is trusted by `-Djavax.net.ssl.trustStore`.
  */
object BareLoop {
  private val DefaultWindow = 1 << 20

  def main(args: Array[String]): Unit = {
    val options = Options.of(args)
    val client  = BareClient.of(
      URI.create(options("endpoint")),
      isHttp2 = options.getOrElse("http", "2") == "2",
      window = options.get("window").fold(DefaultWindow)(_.toInt)
    )
    for (reading <- 1 to options("times").toInt) {
      val read = new Backlog(client, options("stream"), options("records").toLong)
      if (options("publisher") == "polling") Cost.printed(read.bytes.get)(read.poll(options("limit").toInt))
      else {
        val name = s"bare-${ProcessHandle.current.pid}-$reading"
        Cost.printed(read.bytes.get)(read.subscribe(name))
        read.deregister(name)
      }
    }
    client.close()
  }
}

/** One reading of all records of a stream. Answers and events of different shards come on different threads.
  *
  * @param records how many there are
  */
private final class Backlog(client: KinesisAsyncClient, stream: String, records: Long) {
  private val left = new AtomicLong(records)
  private val sum  = new AtomicLong
  private val all  = new CompletableFuture[Unit]

  /** Of what was read. */
  val bytes = new AtomicLong

  /** Shards begin one after the other: the answers of hundreds at once don't fit into the heap.
    *
    * @param limit records of an answer at most
    */
  def poll(limit: Int): Unit = {
    shardIds.foreach(shard => poll(BareClient.oldest(client, stream, shard), limit))
    all.join()
  }

  private def poll(iterator: String, limit: Int): Unit =
    client
      .getRecords(r => r.shardIterator(iterator).limit(limit): Unit)
      .whenComplete { (answer, error) =>
        if (error != null) fail(error)
        else {
          take(answer.records)
          if (answer.millisBehindLatest > 0) poll(answer.nextShardIterator, limit)
        }
      }: Unit

  def subscribe(consumerName: String): Unit = {
    val consumer =
      client.registerStreamConsumer(r => r.streamARN(arn).consumerName(consumerName): Unit).join().consumer.consumerARN
    while (status(consumer) != ConsumerStatus.ACTIVE) Thread.sleep(20)
    val subscriptions = shardIds.map { shard =>
      client.subscribeToShard(
        (r: SubscribeToShardRequest.Builder) =>
          r.consumerARN(consumer)
            .shardId(shard)
            .startingPosition(p => p.`type`(ShardIteratorType.TRIM_HORIZON): Unit): Unit,
        SubscribeToShardResponseHandler.builder
          .subscriber(
            SubscribeToShardResponseHandler.Visitor.builder
              .onSubscribeToShardEvent(event => take(event.records))
              .build
          )
          .build
      )
    }
    subscriptions.foreach(_.whenComplete { (_, error) =>
      fail(Option(error).getOrElse(new IllegalStateException("A subscription ended before all records were there")))
    }: Unit)
    all.join()
    subscriptions.foreach(_.cancel(true): Unit)
  }

  def deregister(consumerName: String): Unit =
    client.deregisterStreamConsumer(r => r.streamARN(arn).consumerName(consumerName): Unit).join(): Unit

  private def take(some: java.util.List[Record]): Unit = {
    var (length, lastBytes) = (0L, 0L)
    some.forEach { record =>
      val data = record.data.asByteArrayUnsafe
      length += data.length
      lastBytes += data(data.length - 1)
    }
    bytes.addAndGet(length)
    sum.addAndGet(lastBytes)
    if (left.addAndGet(-some.size.toLong) <= 0) all.complete(()): Unit
  }

  /** Of no effect once all records are there. */
  private def fail(error: Throwable): Unit = all.completeExceptionally(error): Unit

  private def status(consumer: String) =
    client.describeStreamConsumer(r => r.consumerARN(consumer): Unit).join().consumerDescription.consumerStatus

  private lazy val arn =
    client.describeStreamSummary(r => r.streamName(stream): Unit).join().streamDescriptionSummary.streamARN

  private def shardIds = BareClient.shardIds(client, stream)
}
