package io.github.kinesisspark.benchmarks.latency

import java.nio.ByteBuffer
import java.util.concurrent.{Executors, TimeUnit}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** How 200 records a second come. */
sealed abstract class Load(val name: String, val every: FiniteDuration, val records: Int)

object Load {
  case object Steady extends Load("steady", 5.millis, 1)
  case object Bursts extends Load("bursts", 1.second, 200)

  val both: Seq[Load] = Seq(Steady, Bursts)
}

/** Puts records until it is closed, each with the time at which it was put. */
final class Producer(client: KinesisAsyncClient, stream: String, load: Load) extends AutoCloseable {
  private val clock = Executors.newSingleThreadScheduledExecutor()
  private var key   = 0L

  clock.scheduleAtFixedRate(() => put(), 0, load.every.toNanos, TimeUnit.NANOSECONDS): Unit

  override def close(): Unit = {
    clock.shutdown()
    clock.awaitTermination(10, TimeUnit.SECONDS): Unit
  }

  private def put(): Unit = {
    val now     = ByteBuffer.allocate(8).putLong(System.nanoTime()).array
    val entries = Seq.fill(load.records) {
      key += 1
      PutRecordsRequestEntry.builder.partitionKey(key.toString).data(SdkBytes.fromByteArray(now)).build
    }
    client.putRecords(r => r.streamName(stream).records(entries.asJava): Unit): Unit
  }
}

object Producer {
  def timeOf(data: Array[Byte]): Long = ByteBuffer.wrap(data).getLong
}
