package io.github.kinesisspark.it.source

import java.util.concurrent.ConcurrentSkipListMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.Suites
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.{PutRecordResponse, Shard => SdkShard}

import io.github.kinesisspark.aggregation.{AggregatedRecord, Aggregator, KinesisPut, UserRecord}
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.position.{HashKeyRange, Shard}

/** Reads records in the KPL's aggregated format by queries and batch reads. */
final class Aggregation(override protected val mode: Mode) extends TestkitSuite {
  import Aggregation._

  override def suiteName: String = s"Aggregation by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private def putTo(stream: TestStream, data: Array[Byte], hashKey: BigInt): PutRecordResponse = service.call(
    _.putRecord(r =>
      r.streamName(stream.name).partitionKey("a").explicitHashKey(hashKey.toString).data(SdkBytes.fromByteArray(data))
    )
  )

  /** @return the shard that took it in */
  private def put(stream: TestStream, put: KinesisPut[UserRecord]): String = service
    .call(_.putRecord { r =>
      r.streamName(stream.name).partitionKey(put.partitionKey).data(SdkBytes.fromByteArray(put.data))
      put.explicitHashKey.foreach(key => r.explicitHashKey(key.toString))
      ()
    })
    .shardId

  private def shardsOf(stream: TestStream): Vector[Shard] = stream.shards().map(ours).toVector

  private def split(stream: TestStream): Unit =
    kinesis.streams.split(stream.name, stream.openShards().head.shardId): Unit

  private def run(stream: TestStream, rows: Rows, more: (String, String)*)(body: StreamingQuery => Any): Any =
    running(load(stream, more: _*), checkpoint())(rows.add)(body)

  private def until(rows: Rows, count: Int): Any = eventually(rows.all.size shouldBe count)

  describe("an aggregated record") {
    it("is one row per user record, with the user record's keys and place") {
      val stream  = newStream(shards = 1)
      val records = Vector(
        UserRecord("one".getBytes, "key-1"),
        UserRecord("two".getBytes, "key-2", Some(BigInt(7))),
        UserRecord(Array.emptyByteArray, "key-1")
      )
      val first = putTo(stream, aggregated(records), 0)
      val plain = stream.put("plain", "key-3")
      val rows  = new Rows
      run(stream, rows)(_ => until(rows, 4))
      rows.all.map(shown) shouldBe Vector(
        ("one", "key-1", null, first.sequenceNumber, 0L, first.shardId),
        ("two", "key-2", "7", first.sequenceNumber, 1L, first.shardId),
        ("", "key-1", null, first.sequenceNumber, 2L, first.shardId),
        ("plain", "key-3", null, plain.sequenceNumber, 0L, plain.shardId)
      )
      rows.all.take(3).map(_.getAs[java.sql.Timestamp]("approximateArrivalTimestamp")).distinct should have size 1
    }

    it("is one row with its raw payload if deaggregate is false") {
      val stream  = newStream(shards = 1)
      val payload = aggregated(users("u", 10))
      val put     = putTo(stream, payload, 0)
      val rows    = new Rows
      run(stream, rows, "deaggregate" -> "false")(_ => until(rows, 1))
      rows.all.head.getAs[Array[Byte]]("data") shouldBe payload
      rows.all.map(shown(_)._2) shouldBe Vector("a")
      rows.all.map(shown(_)._4) shouldBe Vector(put.sequenceNumber)
    }

    it("counts as one record in batch limits, and is never split between batches") {
      val stream = newStream(shards = 1)
      (0 until 5).foreach(i => putTo(stream, aggregated(users(s"$i", 20)), 0))
      val rows = new Rows
      run(stream, rows, "maxRecordsPerTrigger" -> "2", "minPartitions" -> "3")(_ => until(rows, 100))
      rows.batches.filter(_.nonEmpty).map(_.size) shouldBe Vector(40, 40, 20)
      rows.all.map(shown(_)._1) shouldBe (0 until 5).flatMap(i => users(s"$i", 20)).map(text)
    }

    it("without user records yields no row, and the next record is read") {
      val stream = newStream(shards = 1)
      // Nothing but a key: the message's field 1, "k".
      val message = Array[Byte](0x0a, 1, 'k')
      putTo(stream, Magic ++ message ++ md5(message), 0)
      stream.put("after")
      val rows = new Rows
      run(stream, rows)(_ => until(rows, 1))
      rows.all.map(shown(_)._1) shouldBe Vector("after")
    }

    it("that is damaged is one row with its raw payload, and is counted") {
      val stream  = newStream(shards = 1)
      val intact  = aggregated(users("u", 3))
      val damaged = Seq(intact.init, intact.updated(8, (intact(8) + 1).toByte), Magic, Magic ++ intact.drop(8))
      damaged.foreach(putTo(stream, _, 0))
      putTo(stream, intact, 0)
      val rows = new Rows
      run(stream, rows) { query =>
        eventually(rows.all.size shouldBe damaged.size + 3)
        eventually {
          metric(query, "malformedAggregatedRecords") shouldBe damaged.size.toLong
          metric(query, "userRecords") shouldBe rows.all.size.toLong
        }
        metric(query, "userRecordsOfOtherShards") shouldBe 0L
      }
      rows.all.take(damaged.size).map(_.getAs[Array[Byte]]("data").toSeq) shouldBe damaged.map(_.toSeq)
    }

    it("is reported in the metrics with its number of user records") {
      val stream = newStream(shards = 1)
      val rows   = new Rows
      run(stream, rows) { query =>
        // What a record holds is known when some have been taken apart.
        for (batch <- 1 to 2) {
          putTo(stream, aggregated(users("u", 2000)), 0)
          until(rows, batch * 2000)
          eventually(metric(query, "userRecords") shouldBe batch * 2000L)
        }
        val all = query.recentProgress.map(_.sources.head.metrics)
        all.map(_.get("numberOfAggregatedRecords").toLong).max should be <= 1L
        all.map(_.get("numberOfDeaggregatedRecords").toLong).max should be > 1L
      }
    }

    it("yields the same rows if its batch runs again, also from a shard that was split since") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      val puts   = putPacked(stream, users("first", 500))
      running(load(stream), at)(log.add)(_ => eventually(log.rows.size shouldBe 500))
      val last = log.all.filter(_._2.nonEmpty).last._1
      eraseCommit(at, last)
      split(stream)
      putPacked(stream, users("second", 500))
      running(load(stream), at)(log.add)(_ => eventually(log.rows.size shouldBe 1000))
      puts should be > 1
      log.replays should contain(last)
      log.texts.sorted shouldBe (users("first", 500) ++ users("second", 500)).map(text).sorted
    }
  }

  describe("aggregated records of a resharded stream") {
    it("are read once and in key order if their producer plans anew after each reshard") {
      val stream        = newStream(shards = 1)
      val rows          = new Rows
      def newAggregator = new Aggregator[UserRecord](shardsOf(stream), maxBytes = 1000)
      var aggregator    = newAggregator
      def putAll(puts: Vector[KinesisPut[UserRecord]]): Unit =
        puts.foreach(p => put(stream, p) shouldBe p.shard.get.id)
      val all = users("u", 900)
      run(stream, rows) { _ =>
        all.grouped(300).foreach { some =>
          some.foreach(record => putAll(aggregator.add(record)))
          split(stream)
          val waiting = aggregator.flush().flatMap(_.records)
          aggregator = newAggregator
          waiting.foreach(record => putAll(aggregator.add(record)))
        }
        putAll(aggregator.flush())
        eventually(rows.all.size should be >= all.size)
      }
      rows.all.map(shown(_)._1).sorted shouldBe all.map(text).sorted
      rows.all.map(shown).groupMap(_._2)(_._1).foreach { case (key, texts) =>
        texts shouldBe all.filter(_.partitionKey == key).map(text)
      }
      rows.all.map(shown(_)._6).distinct.size should be >= 4
    }

    it("from before a split are read from the parent") {
      val stream = newStream(shards = 1)
      val before = users("before", 40)
      putTo(stream, aggregated(before), 0)
      split(stream)
      stream.openShards().foreach(s => putTo(stream, "after".getBytes, ours(s).hashKeys.start))
      val rows = new Rows
      run(stream, rows)(_ => until(rows, 42))
      rows.all.take(40).map(shown(_)._1) shouldBe before.map(text)
    }

    // The KCL leaves out all three; AggregatedRecordSpec holds that against the KCL itself.
    it(
      "in a child with user records of its sibling yield only the child's, until the others are put again"
    ) {
      val stream = newStream(shards = 1)
      split(stream)
      val Seq(left, right) = stream.openShards().map(ours(_).hashKeys): @unchecked
      val first            = UserRecord("first".getBytes, "key", Some(left.start))
      val other            = UserRecord("other".getBytes, "key", Some(right.start))
      val last             = UserRecord("last".getBytes, "key", Some(left.end))
      val rows             = new Rows
      val put              = putTo(stream, aggregated(Seq(first, other, last)), first.hashKey)
      run(stream, rows) { query =>
        eventually(rows.all.size shouldBe 2)
        eventually(metric(query, "userRecordsOfOtherShards") shouldBe 1L)
        putTo(stream, other.data, other.hashKey)
        eventually(rows.all.size shouldBe 3)
      }
      rows.all.map(shown).map { case (text, _, _, _, place, shard) => (text, place, shard) } shouldBe Vector(
        ("first", 0L, put.shardId),
        ("last", 2L, put.shardId),
        ("other", 0L, stream.openShards().last.shardId)
      )
    }

    it("lose no user record if a producer repeats those that readers leave out") {
      val stream   = newStream(shards = 1)
      val outdated = new Aggregator[UserRecord](shardsOf(stream), maxBytes = 50 << 10)
      users("u", 100).flatMap(outdated.add) shouldBe empty
      split(stream)
      val fresh    = shardsOf(stream)
      val repeated = outdated.flush().flatMap { p =>
        val taker = put(stream, p)
        p.toPutAgain(fresh.find(_.id == taker).get.hashKeys)
      }
      repeated should have size 100
      val anew = new Aggregator[UserRecord](fresh, maxBytes = 50 << 10)
      repeated.flatMap(anew.add) shouldBe empty
      anew.flush().foreach(p => put(stream, p) shouldBe p.shard.get.id)
      val rows = new Rows
      run(stream, rows)(_ => eventually(rows.all.map(shown(_)._1).toSet shouldBe users("u", 100).map(text).toSet))
    }
  }

  describe("a batch read of aggregated records") {
    def batch(stream: TestStream) = backfill(stream, mode.batchOptions.toSeq: _*)

    it("yields the same user records as a query, also from closed shards, without those of other shards") {
      val stream = newStream(shards = 1)
      val before = users("before", 300)
      putPacked(stream, before)
      split(stream)
      val Seq(left, right) = stream.openShards().map(ours(_).hashKeys): @unchecked
      val first            = UserRecord("first".getBytes, "key", Some(left.start))
      val other            = UserRecord("other".getBytes, "key", Some(right.start))
      val put              = putTo(stream, aggregated(Seq(first, other)), first.hashKey)
      val rows             = batch(stream).collect().toSeq
      rows.map(shown(_)._1).sorted shouldBe (before.map(text) :+ "first").sorted
      rows.map(shown).filter(_._1 == "first") shouldBe Seq(
        ("first", "key", left.start.toString, put.sequenceNumber, 0L, put.shardId)
      )
    }

    it("applies filters and column pruning to user records") {
      val stream = newStream(shards = 2)
      putPacked(stream, users("u", 400))
      val frame = batch(stream)
      val all   = frame.collect().toSeq
      val shard = all.head.getAs[String]("shardId")
      frame.where(s"shardId = '$shard'").count() shouldBe all.count(_.getAs[String]("shardId") == shard)
      frame.where("partitionKey = 'key-7'").count() shouldBe 20
      frame.where("subSequenceNumber > 0").count() shouldBe all.count(_.getAs[Long]("subSequenceNumber") > 0)
      val pruned = frame.select("subSequenceNumber", "partitionKey", "sequenceNumber").collect().toSet
      pruned shouldBe all.map(row => Row(row.getAs[Long](4), row.getString(1), row.getString(3))).toSet
      frame.count() shouldBe 400
    }
  }

  /** Puts aggregated records for the stream's shards as they are now; says how many. */
  private def putPacked(stream: TestStream, records: Seq[UserRecord]): Int = {
    val aggregator = new Aggregator[UserRecord](shardsOf(stream), maxBytes = 800)
    val all        = records.flatMap(aggregator.add) ++ aggregator.flush()
    all.foreach(p => put(stream, p) shouldBe p.shard.get.id)
    all.size
  }
}

final class AggregationSpec extends Suites(Passes.modes(Mode.Polling)(new Aggregation(_)): _*)

object Aggregation {
  private val Magic = Array(0xf3, 0x89, 0x9a, 0xc2).map(_.toByte)

  private def md5(bytes: Array[Byte]) = java.security.MessageDigest.getInstance("MD5").digest(bytes)

  private def aggregated(records: Iterable[UserRecord]) =
    records.foldLeft(new AggregatedRecord[UserRecord])(_.add(_)).payload

  private def users(prefix: String, count: Int) =
    (0 until count).map(i => UserRecord(s"$prefix-$i".getBytes, s"key-${i % 20}")).toVector

  private def text(record: UserRecord) = new String(record.data)

  private def ours(shard: SdkShard) = Shard(
    shard.shardId,
    Nil,
    HashKeyRange(BigInt(shard.hashKeyRange.startingHashKey), BigInt(shard.hashKeyRange.endingHashKey)),
    closed = !TestStream.isOpen(shard)
  )

  private def shown(row: Row) = (
    new String(row.getAs[Array[Byte]]("data")),
    row.getAs[String]("partitionKey"),
    row.getAs[String]("explicitHashKey"),
    row.getAs[String]("sequenceNumber"),
    row.getAs[Long]("subSequenceNumber"),
    row.getAs[String]("shardId")
  )

  /** What each batch held; one that comes again holds the same. */
  private final class Rows {
    private val byBatch = new ConcurrentSkipListMap[Long, Vector[Row]]

    def add(batch: DataFrame, id: Long): Unit = byBatch.put(id, batch.collect().toVector): Unit

    def batches: Vector[Vector[Row]] = byBatch.values.asScala.toVector
    def all: Vector[Row]             = batches.flatten
  }
}
