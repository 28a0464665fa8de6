package io.github.kinesisspark.bare

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CompletableFuture, Semaphore}

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** The least that writing rows costs with the AWS SDK: PutRecords calls of its public asynchronous client, in a process without Spark and without this
  * connector. Each task has eight calls under way, and puts again at once what was refused.
  *
  * Writes all records several times, and prints a line for each time ([[Cost]]).
  *
  * Arguments as `name=value`: `endpoint`, `stream`, `records`, `bytes` (of a record), `tasks`, `times`, and `http` (`1.1` or `2`).
  */
object BareWriter {
  private val CallsOfTask = 8
  private val Window      = 1 << 20
  private val Digits      = 10

  def main(args: Array[String]): Unit = {
    val options = Options.of(args)
    val client  = BareClient.of(URI.create(options("endpoint")), isHttp2 = options("http") == "2", Window)
    val rows    = new Rows(options("bytes").toInt)
    for (_ <- 1 to options("times").toInt)
      Cost.printed(options("records").toLong * rows.bytes)(
        write(client, options("stream"), options("records").toLong, options("tasks").toInt, rows)
      )
    client.close()
  }

  private def write(client: KinesisAsyncClient, stream: String, records: Long, tasks: Int, rows: Rows): Unit = {
    val running = (0 until tasks).map { task =>
      CompletableFuture.runAsync(() =>
        new Task(client, stream, rows).write(records * task / tasks, records * (task + 1) / tasks)
      )
    }
    running.foreach(_.join(): Unit)
  }

  /** A number, which is the key as well, before what all rows have in common. */
  private final class Rows(val bytes: Int) {
    private val filler = "x" * (bytes - Digits)
    val ofCall: Int    = BareClient.recordsOfCall(bytes)

    def of(number: Long): PutRecordsRequestEntry = {
      val key = number.toString.reverse.padTo(Digits, '0').reverse
      PutRecordsRequestEntry.builder
        .partitionKey(key)
        .data(SdkBytes.fromByteArrayUnsafe((key + filler).getBytes(UTF_8)))
        .build
    }
  }

  private final class Task(client: KinesisAsyncClient, stream: String, rows: Rows) {
    private val free = new Semaphore(CallsOfTask)

    def write(from: Long, until: Long): Unit = {
      val calls = (from until until).iterator.grouped(rows.ofCall).map { numbers =>
        val entries = numbers.map(rows.of).toVector
        free.acquire()
        put(entries).whenComplete((_, _) => free.release())
      }
      calls.toVector.foreach(_.join(): Unit)
    }

    private def put(entries: Vector[PutRecordsRequestEntry]): CompletableFuture[Unit] =
      client.putRecords(r => r.streamName(stream).records(entries.asJava): Unit).thenCompose { answer =>
        val refused = entries.zip(answer.records.asScala).collect { case (entry, r) if r.errorCode != null => entry }
        if (refused.isEmpty) CompletableFuture.completedFuture(()) else put(refused)
      }
  }
}
