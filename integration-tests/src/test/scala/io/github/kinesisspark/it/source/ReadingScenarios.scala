package io.github.kinesisspark.it.source

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Suites
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.KinesisTarget

/** Reads streams through the public API on every server, by polling and by fan-out. */
final class ReadingScenarios(target: KinesisTarget, override protected val mode: Mode)
    extends SourceSuite(target.service) {
  override def suiteName: String = s"Reading on $target by $mode"
  override def suiteId: String   = s"${getClass.getName}-$target-$mode"

  describe("the source") {

    it("reads every record of every shard once, in the order of its shard") {
      val stream = newStream(shards = 3)
      val before = put(stream, "before", 1200)
      val log    = new BatchLog
      running(load(stream), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe before.size)
        val during = put(stream, "during", 300)
        eventually(log.texts.sorted shouldBe (before ++ during).sorted)
      }
      log.rows.map(_.shardId).distinct should have size 3
      inOrder(log)
    }

    it("returns the documented columns with the record's values") {
      val stream = newStream(shards = 1)
      val put    = stream.put("hello", "a key")
      val rows   = new ConcurrentLinkedQueue[org.apache.spark.sql.Row]
      running(load(stream), checkpoint())((batch, _) => batch.collect().foreach(rows.add)) { _ =>
        eventually(rows.size shouldBe 1)
      }
      val row = rows.peek()
      new String(row.getAs[Array[Byte]]("data")) shouldBe "hello"
      row.getAs[String]("partitionKey") shouldBe "a key"
      row.isNullAt(row.fieldIndex("explicitHashKey")) shouldBe true
      row.getAs[String]("sequenceNumber") shouldBe put.sequenceNumber
      row.getAs[Long]("subSequenceNumber") shouldBe 0L
      row.getAs[java.sql.Timestamp]("approximateArrivalTimestamp").getTime should be > 1600000000000L
      row.getAs[String]("streamName") shouldBe stream.name
      row.getAs[String]("shardId") shouldBe put.shardId
    }

    it("resumes from its checkpoint, and reads records that arrived during downtime") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      // Stopped before its commit, a batch comes again.
      val log                = new BatchLog
      def run(expected: Int) = running(load(stream), at)(log.add)(_ => eventually(log.rows.size shouldBe expected))
      val first              = put(stream, "first", 100)
      run(100)
      val second = put(stream, "second", 100)
      run(200)
      log.texts.sorted shouldBe (first ++ second).sorted
    }

    it("at LATEST reads records after its first batch, and none before it") {
      val stream = newStream(shards = 2)
      val old    = put(stream, "old", 50)
      // LATEST is a whole second of the service's clock: the old records must be of an earlier one.
      eventually {
        val newest =
          stream.shards().flatMap(s => stream.drain(stream.trimHorizon(s.shardId))).flatMap(_.records.asScala)
        newest.size shouldBe 50
        val age = System.currentTimeMillis() - newest.map(_.approximateArrivalTimestamp.toEpochMilli).max
        age should be > 2000L
      }
      val seen = new ConcurrentLinkedQueue[String]
      running(load(stream, "startingPosition" -> "LATEST"), checkpoint())((batch, _) =>
        texts(batch).foreach(seen.add)
      ) { query =>
        eventually(query.lastProgress should not be null)
        val late = put(stream, "late", 50)
        eventually(seen.asScala.toSeq.sorted shouldBe late.sorted)
      }
      old.size shouldBe 50
    }

    it("reads parents before children through a split and a merge") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      running(load(stream), checkpoint())(log.add) { _ =>
        val first            = put(stream, "a", 200)
        val Seq(left, right) = stream.openShards(): @unchecked
        stream.split(left)
        val halves = awaitOpen(stream, 3).filter(_.parentShardId == left.shardId)
        val second = put(stream, "b", 200)
        stream.merge(halves(1), right)
        awaitOpen(stream, 2)
        val third = put(stream, "c", 200)
        eventually(log.texts.sorted shouldBe (first ++ second ++ third).sorted)
      }
      val order = log.rows.map(_.shardId)
      for {
        shard  <- stream.shards()
        parent <- Seq(shard.parentShardId, shard.adjacentParentShardId).filter(_ != null)
        if order.contains(shard.shardId) && order.contains(parent)
      } order.lastIndexOf(parent) should be < order.indexOf(shard.shardId)
    }

    it("keeps every batch within maxRecordsPerTrigger, shared by all shards") {
      val stream = newStream(shards = 4)
      val all    = put(stream, "r", 400)
      val log    = new BatchLog
      running(load(stream, "maxRecordsPerTrigger" -> "30"), checkpoint())(log.add)(_ =>
        eventually(log.rows.size shouldBe 400)
      )
      log.texts.sorted shouldBe all.sorted
      val batches = log.all.map(_._2)
      batches.map(_.size).max shouldBe 30
      // Once all readers hold something, a full batch takes of all of them.
      batches.filter(_.size == 30).map(_.map(_.shardId).distinct.size).max shouldBe 4
    }

    it("obeys maxBytesPerTrigger and maxRecordsPerTrigger at once, and admits a larger record alone") {
      val stream = newStream(shards = 2)
      val small  = put(stream, "b", 200)
      stream.putBytes(Array.fill(5000)('x'.toByte), "large")
      val log = new BatchLog
      running(load(stream, "maxBytesPerTrigger" -> "300", "maxRecordsPerTrigger" -> "20"), checkpoint())(log.add) { _ =>
        eventually(log.rows.size shouldBe small.size + 1)
      }
      for ((_, rows) <- log.all) {
        rows.size should be <= 20
        // A record counts with its key, which is its text here.
        if (rows.size > 1) rows.map(_.text.length * 2).sum should be <= 300
      }
    }

    it("waits for minRecordsPerTrigger, at most for maxTriggerDelay") {
      val stream                 = newStream(shards = 2)
      val at                     = checkpoint()
      val log                    = new BatchLog
      def waiting(delay: String) = load(stream, "minRecordsPerTrigger" -> "100", "maxTriggerDelay" -> delay)
      // A delay that is never over.
      running(waiting("1h"), at)(log.add) { query =>
        eventually(query.lastProgress should not be null)
        // Two parts that only together are enough.
        put(stream, "half", 60)
        put(stream, "other", 60)
        eventually(log.rows.size should be >= 100)
        awaitCommit(at, log)
      }
      log.all.map(_._2.size).filter(_ > 0) should have size 1
      running(waiting("6s"), at)(log.add) { _ =>
        put(stream, "few", 30)
        eventually(log.rows.size shouldBe 150)
      }
    }

    it("with AvailableNow reads the present records in limited batches, and ends") {
      val stream = newStream(shards = 3)
      val at     = checkpoint()
      val log    = new BatchLog
      def run()  = {
        val query = start(load(stream, "maxRecordsPerTrigger" -> "100"), at, Trigger.AvailableNow) { (batch, id) =>
          log.add(batch, id)
          // What comes meanwhile belongs to the next run.
          put(stream, s"late-$id", 5): Unit
        }
        failAfter(Span(240, Seconds))(query.awaitTermination())
      }
      val first = put(stream, "first", 450)
      run()
      log.texts.toSet should contain allElementsOf first
      log.all.map(_._2.size).max shouldBe 100
      val sofar = log.rows.size
      run()
      log.rows.size should be > sofar
      log.texts.distinct.size shouldBe log.texts.size
    }

    it("reports lag, records and bytes in the query's progress") {
      val stream = newStream(shards = 2)
      put(stream, "m", 100)
      running(load(stream), checkpoint()) { (batch, _) => batch.count(); () } { query =>
        eventually {
          val withData = query.recentProgress.filter(_.numInputRows > 0)
          withData.map(_.numInputRows).sum shouldBe 100
          val metrics = withData.last.sources.head.metrics
          metrics.get("shardsOpen") shouldBe "2"
          metrics.get("records").toLong should be > 0L
          metrics.get("bytes").toLong should be > 0L
          metrics.keySet.asScala should contain allOf (
            "maxMillisBehindLatest",
            "avgMillisBehindLatest",
            "minMillisBehindLatest",
            "bufferedBytes",
            "rereadBytes"
          )
        }
      }
    }
  }
}

class ReadingSpec extends Suites(Passes.suites(new ReadingScenarios(_, _)): _*)
