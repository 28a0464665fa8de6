package io.github.kinesisspark.it.source

import java.nio.file.Files
import java.time.Instant
import java.util.concurrent.atomic.AtomicBoolean

import scala.concurrent.duration._
import scala.util.Using

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, SQLContext}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suites
import org.scalatest.concurrent.{Signaler, ThreadSignaler}
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream

/** A stream without records, alone in a query and beside other sources. */
final class IdleStream(override protected val mode: Mode) extends TestkitSuite {
  import IdleStream._

  override def suiteName: String = s"An idle stream by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  /** A call that never returns fails its test. */
  private implicit val interrupt: Signaler = ThreadSignaler

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.streaming.numRecentProgressUpdates" -> "1000")

  /** Has new rows in each batch. */
  private def busy(): DataFrame =
    spark.readStream
      .format("rate-micro-batch")
      .option("rowsPerBatch", 10)
      .load()
      .selectExpr("cast(value as string) text")

  /** Has a row each second. */
  private def everySecond(): DataFrame =
    spark.readStream.format("rate").load().selectExpr("concat('rate-', value) text")

  /** A source of Spark's own that costs nothing: what it takes longer with is Spark's, which plans one source more. */
  private def withoutRows(): DataFrame = {
    implicit val context: SQLContext   = spark.sqlContext
    implicit val text: Encoder[String] = Encoders.STRING
    MemoryStream[String].toDF().toDF("text")
  }

  private def texts(stream: TestStream): DataFrame = load(stream).selectExpr("cast(data as string) text")

  private def noop(frame: DataFrame): StreamingQuery = frame.writeStream
    .format("noop")
    .option("checkpointLocation", checkpoint().toString)
    .trigger(Trigger.ProcessingTime(0))
    .start()

  private def batches(query: StreamingQuery): Vector[Took] = query.recentProgress.iterator
    .filter(_.numInputRows > 0)
    .map(p => Took(Instant.parse(p.timestamp).toEpochMilli, p.durationMs.get("triggerExecution").toLong))
    .toVector

  /** How much longer one query's batches take than those of the other that run at the same time, at the median. They run side by side, so that the
    * machine is as busy for the one as for the other.
    */
  private def compared(without: DataFrame, beside: DataFrame): Double = {
    val (one, other)                   = (noop(without), noop(beside))
    def settled(query: StreamingQuery) = batches(query).drop(FirstBatches)
    try
      eventually(timeout(Span(400, Seconds))) {
        val (a, b) = (settled(one), settled(other))
        a.size.min(b.size) should be >= Batches
        val (idle, read) = (median(a.map(_.millis)), median(b.map(_.millis)))
        info(s"$mode: batches take $idle ms beside an idle source of Spark's and $read ms beside an idle stream")
        val ratios = for {
          some <- b.grouped(Neighbours).toVector
          near = a.filter(t => t.began >= some.head.began && t.began <= some.last.began)
          if near.nonEmpty
        } yield median(some.map(_.millis)).toDouble / median(near.map(_.millis)).max(1)
        ratios should not be empty
        median(ratios)(Ordering.Double.TotalOrdering)
      }
    finally Seq(one, other).foreach(_.stop())
  }

  /** Meanwhile, a record every 5 ms. */
  private def putting[A](put: => Unit)(body: => A): A = {
    val isOver  = new AtomicBoolean
    val writing = new Thread(() =>
      while (!isOver.get) {
        put
        Thread.sleep(5)
      }
    )
    writing.start()
    try body
    finally {
      isOver.set(true)
      writing.join()
    }
  }

  describe("an idle stream") {
    it("hardly delays the batches of another source of its query") {
      compared(busy().union(withoutRows()), busy().union(texts(newStream(shards = 2)))) should be <= MostDelayInTest
    }

    it("hardly delays the batches of another source of its query that comes after it", Slow) {
      compared(withoutRows().union(busy()), texts(newStream(shards = 2)).union(busy())) should be <= MostDelay
    }

    it("hardly delays the batches of another stream's source", Slow) {
      // Two, as a stream consumer is one query's alone.
      val (one, other) = (newStream(shards = 1), newStream(shards = 1))
      putting(Seq(one, other).foreach(stream => kinesis.streams.put(stream.name, "key", "text"))) {
        compared(
          texts(one).union(withoutRows()),
          texts(other).union(texts(newStream(shards = 2)))
        ) should be <= MostDelay
      }
    }

    it("hardly delays the batches of Kafka's source", Slow) {
      Using.resource(new KafkaBroker(Files.createTempDirectory("kafka-"))) { broker =>
        Using.resource(new KafkaTopic(broker, "events", partitions = 2)) { topic =>
          def kafka() = spark.readStream
            .format("kafka")
            .options(topic.options)
            .load()
            .selectExpr("cast(value as string) text")
          putting(topic.put("text")) {
            compared(kafka().union(withoutRows()), kafka().union(texts(newStream(shards = 2)))) should be <= MostDelay
          }
        }
      }
    }
  }

  /** Puts a record and has the query process all that is available, so many times. */
  private def trying(stream: TestStream, tries: Int)(frame: DataFrame): Unit = {
    @volatile var seen = Set.empty[String]
    val query          = frame.writeStream
      .option("checkpointLocation", checkpoint().toString)
      .foreachBatch((batch: DataFrame, _: Long) => seen ++= texts(batch.selectExpr("text as data")))
      .start()
    try {
      query.processAllAvailable()
      val took = (1 to tries).map { i =>
        val key  = i.toString
        val text = s"try-$i"
        kinesis.streams.put(stream.name, key, text)
        val began = System.nanoTime()
        // On a busy machine the rate source has something new at each planning for a while, and Spark waits until it hasn't.
        failAfter(Span(300, Seconds))(query.processAllAvailable())
        withClue(s"after ${(System.nanoTime() - began).nanos.toMillis} ms: ")(seen should contain(text))
        (System.nanoTime() - began).nanos.toMillis
      }
      info(s"$mode: ${took.size} tries took ${median(took)} ms at the median, ${took.max} ms at most")
    } finally query.stop()
  }

  for {
    (place, frame, tries) <- Seq[(String, DataFrame => DataFrame, Seq[Int])](
      ("alone", identity, Seq(5, 500)),
      ("before a rate source", _.union(everySecond()), Seq(5, 500)),
      ("behind a rate source", everySecond().union(_), Seq(500))
    )
    count <- tries
  } describe(s"processAllAvailable, $count times, of a stream $place") {
    it("returns when what was put before is in committed batches", (if (count > 5) Seq(Slow) else Nil): _*) {
      val stream = newStream(shards = 2)
      trying(stream, count)(frame(texts(stream)))
    }
  }
}

object IdleStream {

  /** By which time everything is compiled. */
  private val FirstBatches = 20
  private val Batches      = 100

  /** So many batches in a row are compared with those of the other query in the same time. */
  private val Neighbours = 10

  private val MostDelay = 1.2

  /** Where other suites use the same cores. */
  private val MostDelayInTest = 1.5

  /** @param began  in ms since 1970
    * @param millis that the batch took
    */
  private final case class Took(began: Long, millis: Long)

  private def median[A: Ordering](all: Seq[A]): A = all.sorted.apply(all.size / 2)
}

class IdleStreamSpec extends Suites(Mode.both.map(new IdleStream(_)): _*)
