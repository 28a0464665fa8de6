package io.github.kinesisspark.bare

import java.net.URI
import java.util.concurrent.{CompletableFuture, Semaphore, TimeUnit}
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.Random

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.{PutRecordsRequest, PutRecordsRequestEntry}

/** Fills a stream with records of the same random bytes under keys that spread over all shards.
  *
  * Arguments: endpoint, stream, bytes of a record, number of records. A record that is refused, as by a quota, is put again.
  */
object Fill {
  private val Seed       = 16L
  private val CallsAhead = 8

  /** Until the next attempt. */
  private val Pause = 100L

  def main(args: Array[String]): Unit = {
    val Array(endpoint, stream, size, count) = args: @unchecked
    val client                               = BareClient.of(URI.create(endpoint), isHttp2 = false, window = 0)
    val data                                 = SdkBytes.fromByteArrayUnsafe(new Random(Seed).nextBytes(size.toInt))
    val perCall                              = BareClient.recordsOfCall(size.toInt)
    val ahead                                = new Semaphore(CallsAhead)
    val failure                              = new AtomicReference[String]
    val later                                = CompletableFuture.delayedExecutor(Pause, TimeUnit.MILLISECONDS)
    def put(entries: Vector[PutRecordsRequestEntry]): Unit =
      client.putRecords(PutRecordsRequest.builder.streamName(stream).records(entries.asJava).build).whenComplete {
        (answer, error) =>
          if (error == null && answer.failedRecordCount > 0) {
            val refused = entries.zip(answer.records.asScala).collect { case (e, r) if r.errorCode != null => e }
            later.execute(() => put(refused))
          } else {
            if (error != null) failure.set(error.toString)
            ahead.release()
          }
      }: Unit
    Iterator.range(0L, count.toLong).map(_.toString).grouped(perCall).takeWhile(_ => failure.get == null).foreach {
      keys =>
        ahead.acquire()
        put(keys.map(key => PutRecordsRequestEntry.builder.partitionKey(key).data(data).build).toVector)
    }
    ahead.acquire(CallsAhead)
    client.close()
    Option(failure.get).foreach(why => throw new IllegalStateException(s"Filling $stream failed: $why"))
  }
}
