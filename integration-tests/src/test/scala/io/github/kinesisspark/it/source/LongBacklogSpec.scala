package io.github.kinesisspark.it.source

import java.time.Duration
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Suites
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream

/** A backlog of hours, read by `Trigger.AvailableNow`. */
@Slow
final class LongBacklog(override protected val mode: Mode) extends TestkitSuite {
  override def suiteName: String = s"A long backlog by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  /** Four hours' records, one a minute, of a stream of two shards, the first of which is split after two. */
  private def backlog(recordBytes: Int): (TestStream, Vector[String]) = {
    val stream              = newStream(shards = 2)
    val padding             = "." * recordBytes
    def hours(part: String) = (1 to 2 * 60).toVector.map { minute =>
      serverClock.advance(Duration.ofMinutes(1))
      val text = s"$part-$minute"
      kinesis.streams.put(stream.name, text, text + padding)
      text
    }
    val before = hours("before")
    kinesis.streams.split(stream.name, kinesis.streams.shards(stream.name).head.id)
    (stream, before ++ hours("after"))
  }

  private def readAll(stream: TestStream, options: (String, String)*): BatchLog = {
    val log   = new BatchLog
    val query = start(load(stream, options: _*), checkpoint(), Trigger.AvailableNow) { (batch, id) =>
      log.add(batch.withColumn("data", expr("substring_index(cast(data as string), '.', 1)")), id)
    }
    failAfter(Span(240, Seconds))(query.awaitTermination())
    inOrder(log)
    log
  }

  describe("a backlog of hours") {
    it("is read in one batch before a reshard and one after it, where half of the buffers hold it") {
      val (stream, put) = backlog(80000)
      val log           = readAll(stream)
      log.texts.sorted shouldBe put.sorted
      log.all.count(_._2.nonEmpty) shouldBe 2
    }

    it("is read in batches of half of the buffers or more, where these are smaller") {
      // One shard of 19 MB, and one of 10 MB with two children of 5 MB: of 16 MiB, the share of one of three is 5 MiB.
      val (stream, put) = backlog(160000)
      val log           = readAll(stream, "readerBufferSize" -> "16m")
      log.texts.sorted shouldBe put.sorted
      log.all.count(_._2.nonEmpty) should (be > 2 and be <= 12)
    }

    it("is read without pauses where the buffers are too small for an answer of each shard") {
      // 48 shards with 6 MB each that arrived within half a minute; a share of 64 MiB is 1.3 MiB.
      val stream = newStream(shards = 48)
      val shards = kinesis.streams.shards(stream.name).map(_.id)
      val data   = new Array[Byte](1000)
      val count  = 48 * 300 * 20
      for (_ <- 1 to 300) {
        shards.foreach(shard => (1 to 20).foreach(_ => kinesis.streams.putInto(stream.name, shard, "key", data)))
        serverClock.advance(Duration.ofMillis(100))
      }
      val rows  = new AtomicLong
      val query = load(stream, "readerBufferSize" -> "64m").writeStream
        .foreachBatch((batch: DataFrame, _: Long) => rows.addAndGet(batch.count()): Unit)
        .option("checkpointLocation", checkpoint().toString)
        .start()
      eventually(timeout(Span(120, Seconds)))(rows.get shouldBe count)
      query.stop()
    }
  }
}

class LongBacklogSpec extends Suites(Mode.both.map(new LongBacklog(_)): _*)
