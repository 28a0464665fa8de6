package io.github.kinesisspark.it.source

import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.TaskContext
import org.apache.spark.sql.functions.{col, udf}
import org.scalatest.Suites
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.KinesisTarget

/** Tests that a batch holds the same records each time it is read, in any task and after any restart. */
final class ExactnessScenarios(target: KinesisTarget, override protected val mode: Mode)
    extends SourceSuite(target.service) {
  override def suiteName: String = s"Exactness on $target by $mode"
  override def suiteId: String   = s"${getClass.getName}-$target-$mode"

  describe("a batch") {

    it("runs again with identical rows if its commit is erased and more records have arrived") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      put(stream, "first", 300)
      running(load(stream), at)(log.add)(_ => eventually(log.rows.size shouldBe 300))
      val last = log.all.last._1
      eraseCommit(at, last)
      val second = put(stream, "second", 300)
      running(load(stream), at)(log.add)(_ => eventually(log.rows.size shouldBe 600))
      log.replays should contain(last)
      log.texts.toSet should contain allElementsOf second
      log.texts.distinct.size shouldBe 600
    }

    it("is divided into minPartitions tasks, and has the same rows in one task or divided otherwise") {
      val stream                                       = newStream(shards = 1)
      val at                                           = checkpoint()
      val log                                          = new BatchLog
      val tasks                                        = new ConcurrentLinkedQueue[Int]
      val first                                        = put(stream, "first", 400)
      def run(minPartitions: Int)(body: => Unit): Unit =
        running(load(stream, "minPartitions" -> minPartitions.toString), at) { (batch, id) =>
          tasks.add(batch.rdd.getNumPartitions)
          log.add(batch, id)
        }(_ => body)
      run(minPartitions = 4)(eventually(log.rows.size shouldBe 400))
      tasks.asScala should contain(4)
      val last = log.all.last._1
      eraseCommit(at, last)
      tasks.clear()
      put(stream, "second", 100)
      run(minPartitions = 3)(eventually(log.rows.size shouldBe 500))
      log.replays should contain(last)
      tasks.asScala.head shouldBe 1
      tasks.asScala should contain(3)
      log.texts.take(400).sorted shouldBe first.sorted
      inOrder(log)
    }

    it("has the same rows in two actions while records keep arriving") {
      val stream = newStream(shards = 2)
      put(stream, "first", 100)
      val pairs = new ConcurrentLinkedQueue[(Vector[Delivered], Vector[Delivered])]
      running(load(stream), checkpoint()) { (batch, id) =>
        val one = BatchLog.rowsOf(batch)
        put(stream, s"during-$id", 20)
        pairs.add(one -> BatchLog.rowsOf(batch)): Unit
      } { _ =>
        eventually(pairs.asScala.count(_._1.nonEmpty) should be >= 3)
      }
      pairs.asScala.foreach { case (one, two) => BatchLog.canonical(two) shouldBe BatchLog.canonical(one) }
    }

    it("gives both sides of a self-union the same rows") {
      val stream = newStream(shards = 2)
      val source = load(stream)
      val log    = new ConcurrentLinkedQueue[Seq[String]]
      running(source.union(source), checkpoint()) { (batch, _) => log.add(texts(batch)); () } { _ =>
        val all = put(stream, "u", 150)
        eventually(log.asScala.flatten.toSeq.sorted shouldBe (all ++ all).sorted)
      }
      log.asScala.foreach(batch => batch.groupBy(identity).values.map(_.size).toSet.diff(Set(2)) shouldBe empty)
    }

    it("has the same rows in a task that is retried after reading half of it") {
      val stream   = newStream(shards = 1)
      val failures = new AtomicInteger
      val all      = put(stream, "t", 200)
      val fragile  = udf { (text: String) =>
        if (text.endsWith("-150") && TaskContext.get().attemptNumber() < 2)
          throw new IllegalStateException("as planned")
        s"$text@${TaskContext.get().attemptNumber()}"
      }
      val seen = new ConcurrentLinkedQueue[String]
      running(load(stream), checkpoint()) { (batch, _) =>
        batch.select(fragile(col("data").cast("string"))).collect().foreach { r =>
          if (r.getString(0).endsWith("@2")) failures.incrementAndGet()
          seen.add(r.getString(0).takeWhile(_ != '@'))
        }
      } { _ =>
        eventually(seen.size should be >= 200)
      }
      seen.asScala.toSeq.sorted shouldBe all.sorted
      failures.get should be > 0
    }

    it("is written to a Parquet sink exactly once over 20 restarts at random moments") {
      val seed   = System.nanoTime()
      val random = new Random(seed)
      info(s"seed $seed")
      val stream  = newStream(shards = 3)
      val at      = checkpoint()
      val out     = Files.createTempDirectory("parquet-").resolve("out").toString
      def query() = load(stream, "maxRecordsPerTrigger" -> "120")
        .selectExpr("cast(data as string) as text", "shardId", "sequenceNumber")
        .writeStream
        .format("parquet")
        .option("checkpointLocation", at.toString)
        .start(out)
      // Spark refuses a checkpoint whose very first batch was cut off while it was being planned, whatever the source.
      val started = query()
      eventually(Files.exists(at.resolve("commits").resolve("0")) shouldBe true)
      started.stop()
      val written = (0 until 20).flatMap { i =>
        val texts   = put(stream, s"p$i", 60)
        val running = query()
        // The moment itself is what is random here; nothing is waited for.
        running.awaitTermination(1L + random.nextInt(900))
        running.exception shouldBe None
        running.stop()
        texts
      }
      val last = query()
      eventually(timeout(Span(400, Seconds)), interval(Span(1, Seconds))) {
        last.exception shouldBe None
        spark.read.parquet(out).count() should be >= written.size.toLong
      }
      last.stop()
      val rows = spark.read.parquet(out).collect()
      rows.map(_.getString(0)).toSeq.sorted shouldBe written.sorted
    }

    it("is read from Kinesis again with the same rows if its buffer is gone") {
      val stream = newStream(shards = 2)
      val at     = checkpoint()
      val log    = new BatchLog
      val first  = put(stream, "first", 500)
      running(load(stream, "maxRecordsPerTrigger" -> "100"), at)(log.add)(_ => eventually(log.rows.size shouldBe 500))
      // A new query run has no buffers: all that it re-runs is read from Kinesis.
      val (again, _) = log.all.last
      eraseCommit(at, again)
      put(stream, "second", 10)
      running(load(stream, "maxRecordsPerTrigger" -> "100"), at)(log.add) { query =>
        eventually {
          log.rows.size shouldBe 510
          query.recentProgress.flatMap(_.sources).map(_.metrics.get("rereadRecords").toLong).max should be > 0L
        }
      }
      log.texts.take(500).sorted shouldBe first.sorted
      log.replays should contain(again)
    }
  }
}

class ExactnessSpec extends Suites(Passes.first(Mode.Polling)(new ExactnessScenarios(_, _)): _*)
