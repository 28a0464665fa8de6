package io.github.kinesisspark.it.faults

import java.time.{Duration, Instant}

import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.BatchLog
import io.github.kinesisspark.testkit._

/** Reads records whose arrival times go back by up to 5 s. Every record comes once and in order, as if they grew. */
final class AwkwardArrivalsSpec extends AwkwardSuite(AwkwardArrivalsSpec.GoingBack) {

  describe("arrival times that go back") {
    byEach("leave a query that starts at a time with every record that arrived then or later") { mode =>
      val source = newStream(shards = 1)
      putOver(source, seconds = 15)
      val arrivals = arrivalsOf(source)
      val time     = arrivals.map(_._2).sorted.apply(arrivals.size / 2)
      val log      = new BatchLog
      running(stream(source, mode, "startingPosition" -> s"AT_TIMESTAMP:$time"), checkpoint())(log.add) { _ =>
        val atLeast = arrivals.filterNot(_._2.isBefore(time)).map(_._1)
        eventually(log.texts should contain allElementsOf atLeast)
        // In the order of sequence numbers, with what lies between them.
        log.texts shouldBe arrivals.dropWhile(_._2.isBefore(time)).map(_._1)
      }
    }

    byEach("leave two batch reads that meet at a time with every record once between them") { mode =>
      val source = newStream(shards = 1)
      putOver(source, seconds = 15)
      val arrivals = arrivalsOf(source)
      val time     = arrivals.map(_._2).sorted.apply(arrivals.size / 2)
      val before   = texts(batch(source, mode, "endingPosition" -> s"AT_TIMESTAMP:$time"))
      val after    = texts(batch(source, mode, "startingPosition" -> s"AT_TIMESTAMP:$time"))
      (before ++ after).sorted shouldBe arrivals.map(_._1).sorted
    }

    // The search for the newest record looks at the same time again and again, if what it finds there arrived no later
    // than what it found before.
    byEach("leave a batch read of a burst with every record once, and it ends") { mode =>
      val source = newStream(shards = 3)
      serverClock.advance(Duration.ofSeconds(10))
      val all = put(source, "burst", 400)
      serverClock.advance(Duration.ofSeconds(30))
      texts(batch(source, mode)).sorted shouldBe all.sorted
    }

    byEach("leave a query that starts at LATEST with every record that is put once it runs") { mode =>
      val source = newStream(shards = 2)
      put(source, "before", 20)
      serverClock.advance(Duration.ofSeconds(30))
      val log = new BatchLog
      running(stream(source, mode, "startingPosition" -> "LATEST"), checkpoint())(log.add) { query =>
        eventually(query.recentProgress should not be empty)
        val after = put(source, "after", 40)
        eventually(log.texts.sorted shouldBe after.sorted)
      }
    }

    byEach("leave batches that are limited by skew with every record once and in order") { mode =>
      val source = newStream(shards = 2)
      val all    = putOver(source, seconds = 30)
      val log    = new BatchLog
      running(stream(source, mode, "maxShardSkew" -> "1s", "maxRecordsPerTrigger" -> "15"), checkpoint())(log.add)(_ =>
        eventually(log.rows.size shouldBe all.size)
      )
      once(log, all)
    }
  }

  /** Puts 60 records over so many seconds of the server's clock. */
  private def putOver(source: TestStream, seconds: Int): Seq[String] = {
    val texts = (1 to 60).map { i =>
      kinesis.streams.put(source.name, s"key-$i", s"data-$i")
      serverClock.advance(Duration.ofMillis(seconds * 1000L / 60))
      s"data-$i"
    }
    serverClock.advance(Duration.ofSeconds(10))
    texts
  }

  /** The texts and arrival times of the only shard's records, in the order of their sequence numbers. */
  private def arrivalsOf(source: TestStream): Vector[(String, Instant)] = {
    val arrivals = source
      .drain(source.trimHorizon(source.onlyShard().shardId))
      .flatMap(_.records.asScala)
      .map(record => record.data.asUtf8String -> record.approximateArrivalTimestamp)
      .toVector
    withClue("arrival times that never went back, so nothing was tested: ")(
      arrivals.zip(arrivals.tail).exists { case (one, next) => next._2.isBefore(one._2) } shouldBe true
    )
    arrivals
  }
}

object AwkwardArrivalsSpec {
  private val GoingBack = KinesisServerConfig(reads = ReadBehavior(scanRecords = 20, arrivalsBackBy = 5.seconds))
}
