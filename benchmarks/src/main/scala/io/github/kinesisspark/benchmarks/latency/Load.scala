package io.github.kinesisspark.benchmarks.latency

import java.nio.ByteBuffer
import java.util.concurrent.{ScheduledThreadPoolExecutor, ThreadPoolExecutor, TimeUnit}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** How 200 records a second come: so many in each period, at a random moment of it. At even intervals, bursts would keep their distance to the
  * calls of a poller, which come every 200 ms: a poller could have the least latency or the most in every burst of a measurement.
  */
sealed abstract class Load(val name: String, val every: FiniteDuration, val records: Int) {

  /** When each put is due, in ns after the first period's begin. */
  def due(random: Random): Iterator[Long] = {
    val period = every.toNanos
    Iterator.iterate(0L)(_ + period).map(_ + random.nextLong(period))
  }
}

object Load {
  case object Steady extends Load("steady", 5.millis, 1)
  case object Bursts extends Load("bursts", 1.second, 200)

  /** Of the moments. */
  val Seed = 1L

  val both: Seq[Load] = Seq(Steady, Bursts)
}

/** Puts records until it is closed, each with the time at which it was put. */
final class Producer(client: KinesisAsyncClient, stream: String, load: Load) extends AutoCloseable {
  private val clock = new ScheduledThreadPoolExecutor(1, new ThreadPoolExecutor.DiscardPolicy)
  private val began = System.nanoTime()
  private val due   = load.due(new Random(Load.Seed))
  private var key   = 0L

  clock.setExecuteExistingDelayedTasksAfterShutdownPolicy(false)
  next()

  private def next(): Unit = {
    val wait = due.next() - (System.nanoTime() - began)
    clock.schedule((() => { put(); next() }): Runnable, wait, TimeUnit.NANOSECONDS): Unit
  }

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
