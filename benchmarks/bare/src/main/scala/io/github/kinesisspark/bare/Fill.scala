package io.github.kinesisspark.bare

import java.net.URI
import java.util.concurrent.Semaphore
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.Random

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.{PutRecordsRequest, PutRecordsRequestEntry}

/** Fills a stream with records of the same random bytes under keys that spread over all shards.
  *
  * Arguments: endpoint, stream, bytes of a record, number of records. Fails if a record is refused.
  */
object Fill {
  private val Seed       = 16L
  private val CallsAhead = 8

  def main(args: Array[String]): Unit = {
    val Array(endpoint, stream, size, count) = args: @unchecked
    val client                               = BareClient.of(URI.create(endpoint), isHttp2 = false, window = 0)
    val data                                 = SdkBytes.fromByteArrayUnsafe(new Random(Seed).nextBytes(size.toInt))
    val perCall                              = BareClient.recordsOfCall(size.toInt)
    val ahead                                = new Semaphore(CallsAhead)
    val failure                              = new AtomicReference[String]
    Iterator.range(0L, count.toLong).map(_.toString).grouped(perCall).takeWhile(_ => failure.get == null).foreach {
      keys =>
        val entries = keys.map(key => PutRecordsRequestEntry.builder.partitionKey(key).data(data).build)
        ahead.acquire()
        client.putRecords(PutRecordsRequest.builder.streamName(stream).records(entries.asJava).build).whenComplete {
          (answer, error) =>
            if (error != null) failure.set(error.toString)
            else if (answer.failedRecordCount > 0) failure.set(s"${answer.failedRecordCount} records were refused")
            ahead.release()
        }: Unit
    }
    ahead.acquire(CallsAhead)
    client.close()
    Option(failure.get).foreach(why => throw new IllegalStateException(s"Filling $stream failed: $why"))
  }
}
