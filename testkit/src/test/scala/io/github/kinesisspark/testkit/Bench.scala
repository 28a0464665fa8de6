package io.github.kinesisspark.testkit

import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.model.ShardIteratorType

import java.lang.management.ManagementFactory
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{Socket, URI}
import java.util.concurrent.atomic.LongAdder

/** How fast GetRecords and PutRecords are to one client on loopback, as one line of JSON per way of calling:
  * `./sbt "testkit/Test/runMain io.github.kinesisspark.testkit.Bench [seconds] [threads] [only]"`, where `only` is how
  * the names of what is wanted begin, as in `"GetRecords sdk"`.
  *
  * The SDK's async client reads answers of 1,000 records of 1 KB, and writes 500 a call; `socket` and `jdk` are clients that only drain the
  * same answers' bytes, which shows what the server could give to a client that costs nothing. Cores are CPU seconds per
  * second of the server's threads and of all others in this JVM.
  */
object Bench {
  import Clients._

  private val RecordBytes = 1024
  private val PerCall     = 1000
  private val PerShard    = 20000

  def main(args: Array[String]): Unit = {
    val seconds = args.lift(0).fold(10)(_.toInt)
    val readers = args.lift(1).fold(2)(_.toInt)
    val only    = args.lift(2)
    val server  = KinesisServer.start()
    server.streams.createStream("bench", readers)
    val data = Array.tabulate[Byte](RecordBytes)(_.toByte)
    for (shard <- 0 until readers; n <- 0 until PerShard)
      server.streams.putInto("bench", model.ShardInfo.id(shard), s"key-$n", data)

    val ways: Vector[(String, String, Int => Work)] = Vector(
      ("GetRecords", "sdk HTTP/1.1", sdk(server.endpoint, Protocol.HTTP1_1)),
      ("GetRecords", "sdk h2c", sdk(server.endpoint, Protocol.HTTP2)),
      ("GetRecords", "sdk h2c, 16 MiB window", sdk(server.endpoint, Protocol.HTTP2, Some(16 * 1024 * 1024))),
      ("GetRecords", "jdk HTTP/1.1", jdk(server.endpoint)),
      ("GetRecords", "socket HTTP/1.1", socket(server.endpoint)),
      ("PutRecords", "sdk HTTP/1.1", writer(server))
    )
    for ((action, name, way) <- ways if only.forall(s"$action $name".startsWith)) {
      measure(action, name, way, readers, math.max(3, seconds / 2), report = false)
      measure(action, name, way, readers, seconds, report = true)
    }
    server.close()
    System.exit(0)
  }

  /** Reads once through a shard, or writes once, and says how many bytes of records that were. */
  private type Work = () => Long

  private def sdk(endpoint: URI, protocol: Protocol, window: Option[Int] = None): Int => Work = {
    val kinesis = client(endpoint, protocol, window = window)
    shard =>
      () => {
        var iterator = kinesis.iterator("bench", model.ShardInfo.id(shard))
        var bytes    = 0L
        var behind   = true
        while (behind) {
          val answer = kinesis.get(iterator, Some(PerCall))
          answer.records.forEach(r => bytes += r.data.asByteArrayUnsafe.length)
          iterator = answer.nextShardIterator
          behind = answer.millisBehindLatest > 0
        }
        bytes
      }
  }

  // What was written before is trimmed, so that a long run fits into memory.
  private def writer(server: KinesisServer): Int => Work = {
    val kinesis = client(server.endpoint)
    server.streams.createStream("written", 1)
    val entries = Vector.tabulate(500)(i => s"key-$i" -> "x" * RecordBytes)
    _ =>
      () => {
        val first = kinesis.putAll("written", entries).records.get(0)
        server.streams.trim("written", first.shardId, first.sequenceNumber)
        entries.size.toLong * RecordBytes
      }
  }

  private def jdk(endpoint: URI): Int => Work = {
    val http = HttpClient.newBuilder.version(HttpClient.Version.HTTP_1_1).build()
    shard => {
      val calls = iterators(endpoint, shard).map { body =>
        HttpRequest
          .newBuilder(endpoint)
          .header("X-Amz-Target", "Kinesis_20131202.GetRecords")
          .header("Content-Type", "application/x-amz-cbor-1.1")
          .POST(HttpRequest.BodyPublishers.ofByteArray(body))
          .build()
      }
      () => {
        calls.foreach(http.send(_, HttpResponse.BodyHandlers.ofByteArray))
        calls.size.toLong * PerCall * RecordBytes
      }
    }
  }

  private def socket(endpoint: URI): Int => Work = shard => {
    val peer   = new Socket(endpoint.getHost, endpoint.getPort)
    val buffer = new Array[Byte](256 * 1024)
    val calls  = iterators(endpoint, shard).map { body =>
      ("POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Kinesis_20131202.GetRecords\r\n" +
        s"Content-Type: application/x-amz-cbor-1.1\r\nContent-Length: ${body.length}\r\n\r\n").getBytes ++ body
    }
    () => {
      calls.foreach { call =>
        peer.getOutputStream.write(call)
        val first  = peer.getInputStream.read(buffer)
        val text   = new String(buffer, 0, first, "ISO-8859-1")
        val end    = text.indexOf("\r\n\r\n") + 4
        val length = "Content-Length: (\\d+)".r.findFirstMatchIn(text).get.group(1).toInt
        var left   = end + length - first
        while (left > 0) left -= peer.getInputStream.read(buffer)
      }
      calls.size.toLong * PerCall * RecordBytes
    }
  }

  /** The bodies of the GetRecords calls that read a shard once. */
  private def iterators(endpoint: URI, shard: Int): Vector[Array[Byte]] = {
    val kinesis = client(endpoint)
    var next    = kinesis.iterator("bench", model.ShardInfo.id(shard), ShardIteratorType.TRIM_HORIZON)
    val calls   = Vector.fill(PerShard / PerCall) {
      val json = s"""{"ShardIterator":"$next","Limit":$PerCall}"""
      next = kinesis.get(next, Some(PerCall)).nextShardIterator
      wire.WireFormat.Cbor.mapper.writeValueAsBytes(wire.WireFormat.Json.mapper.readTree(json))
    }
    kinesis.close()
    calls
  }

  private def measure(
      action: String,
      name: String,
      way: Int => Work,
      readers: Int,
      seconds: Int,
      report: Boolean
  ): Unit = {
    val bytes   = new LongAdder
    val started = System.nanoTime
    val until   = started + seconds * 1000000000L
    val before  = cpu()
    val threads = Vector.tabulate(readers) { shard =>
      val read   = way(shard)
      val thread = new Thread(() => while (System.nanoTime < until) bytes.add(read()))
      thread.start()
      thread
    }
    while (System.nanoTime < until - 50000000L) java.util.concurrent.locks.LockSupport.parkNanos(10000000L)
    val used = cpu()
    threads.foreach(_.join())
    val took = (System.nanoTime - started) / 1e9
    if (report) {
      val server = (used._1 - before._1) / 1e9 / took
      val others = (used._2 - before._2) / 1e9 / took
      println(
        f"""{"bench":"$action","client":"$name","threads":$readers,"recordBytes":$RecordBytes,""" +
          f""""seconds":$took%.1f,"megabytesPerSecond":${bytes.sum / 1e6 / took}%.0f,""" +
          f""""serverCores":$server%.2f,"otherCores":$others%.2f}"""
      )
    }
  }

  /** CPU time so far of the server's threads, and of all others. */
  private def cpu(): (Long, Long) = {
    val beans   = ManagementFactory.getThreadMXBean
    val threads = beans.getThreadInfo(beans.getAllThreadIds).iterator.filter(_ != null)
    val times = threads.map(t => (t.getThreadName.startsWith("kinesis-testkit"), beans.getThreadCpuTime(t.getThreadId)))
    val (server, others) = times.toVector.partition(_._1)
    (server.map(_._2).sum, others.map(_._2).sum)
  }
}
