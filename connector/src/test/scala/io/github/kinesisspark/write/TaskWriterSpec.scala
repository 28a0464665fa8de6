package io.github.kinesisspark.write

import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.kinesisspark.aggregation.Aggregator
import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.position.{HashKeyRange, Shard}
import io.github.kinesisspark.write.pack.Packing
import io.github.kinesisspark.write.send._

/** When rows go out while the task's thread waits for the next. */
class TaskWriterSpec extends AnyFunSpec with Matchers with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(5, Millis))

  private val events  = StreamRef.ByName("events")
  private val shardId = "shardId-000000000000"

  private def entry(row: Int) = new Entry(events, s"key-$row", None, new Array[Byte](10), RowId("run", 0, row.toLong))

  private def aggregated(listing: => Unit = ()) = {
    val shards = Vector(Shard(shardId, Nil, HashKeyRange.all, closed = false))
    new Packing.Aggregated(
      Aggregator.Limits(50 << 10),
      ordered = false,
      _ => {
        listing
        shards
      }
    )
  }

  /** @param answers of the first calls; later records are taken
    * @param before  each call
    */
  private final class Setting(
      linger: Option[FiniteDuration],
      answers: Seq[CallAnswer] = Nil,
      packing: Packing = new Packing.Plain,
      before: => Unit = ()
  ) {
    val calls        = new ConcurrentLinkedQueue[Vector[Entry]]
    private val left = new ConcurrentLinkedQueue[CallAnswer](answers.asJava)

    val writer = new TaskWriter(
      Sending(SendSettings(ordered = false, bufferSize = 1L << 20, maxCalls = 4, maxRetry = 60000)),
      packing,
      (_, entries) => put(entries),
      _ => (),
      () => false,
      () => 0.5,
      linger
    )

    private def put(entries: Vector[Entry]): CompletableFuture[CallAnswer] = {
      before
      calls.add(entries)
      val taken = CallAnswer.PerRecord(entries.map(_ => RecordAnswer.Taken(shardId)))
      CompletableFuture.completedFuture(Option(left.poll()).getOrElse(taken))
    }

    def sizes: Vector[Int] = calls.asScala.map(_.size).toVector
  }

  it("sends rows without waiting for more, where they must not linger") {
    val s = new Setting(Some(5.millis))
    s.writer.write(entry(0))
    eventually(s.writer.rows shouldBe 1)
    s.writer.write(entry(1))
    eventually(s.writer.rows shouldBe 2)
    s.sizes shouldBe Vector(1, 1)
    s.writer.flush()
    s.writer.close()
  }

  it("waits for full calls where nothing is said, and for the end") {
    val s = new Setting(linger = None)
    (0 until 600).foreach(i => s.writer.write(entry(i)))
    s.writer.flush()
    s.sizes shouldBe Vector(500, 100)
    s.writer.rows shouldBe 600
  }

  it("sends again what was refused, though no row comes any more") {
    val refused =
      RecordAnswer.Refused(RecordAnswer.Refused.Throttling, s"Rate exceeded for shard $shardId in stream events.")
    val s = new Setting(Some(5.millis), Seq(CallAnswer.PerRecord(Vector(refused))))
    s.writer.write(entry(0))
    eventually(s.writer.rows shouldBe 1)
    s.writer.totals.retried shouldBe 1
  }

  it("sends aggregated records that are not full") {
    val s = new Setting(Some(50.millis), packing = aggregated())
    (0 until 3).foreach(i => s.writer.write(entry(i)))
    eventually(s.writer.rows shouldBe 3)
  }

  it("tells with the next row what it has failed with meanwhile") {
    val error = new IllegalStateException("no such stream")
    val s     = new Setting(Some(5.millis), Seq(CallAnswer.Failed(CallFailure.Hopeless, error)))
    s.writer.write(entry(0))
    eventually(the[IllegalStateException] thrownBy s.writer.write(entry(1)) shouldBe error)
    the[IllegalStateException] thrownBy s.writer.flush() shouldBe error
  }

  it("tells again, at the end, what a call has thrown") {
    val error = new IllegalStateException("no such provider")
    val s     = new Setting(linger = None, before = throw error)
    the[IllegalStateException] thrownBy (0 until 500).foreach(i => s.writer.write(entry(i))) shouldBe error
    the[IllegalStateException] thrownBy s.writer.flush() shouldBe error
  }

  it("holds up no other writer, and can be closed, while it lists shards for its timer") {
    val listing = new CountDownLatch(3)
    val ended   = new CountDownLatch(3)
    def list()  =
      if (Thread.currentThread.getName.startsWith("kinesis-writers")) {
        listing.countDown()
        try new CountDownLatch(1).await()
        finally ended.countDown()
      }
    def blocked = {
      val unknown = CallAnswer.PerRecord(Vector(RecordAnswer.Taken("shardId-000000000007")))
      new Setting(Some(5.millis), Seq(unknown), aggregated(list()))
    }
    val all = Vector.fill(3)(blocked)
    all.foreach(_.writer.write(entry(0)))
    listing.await(30, TimeUnit.SECONDS) shouldBe true
    val other = new Setting(Some(5.millis))
    other.writer.write(entry(0))
    eventually(other.writer.rows shouldBe 1)
    all.foreach(_.writer.close())
    ended.await(30, TimeUnit.SECONDS) shouldBe true
  }

  it("does nothing more once it is closed") {
    val s = new Setting(Some(20.millis))
    s.writer.write(entry(0))
    s.writer.close()
    // On a machine that stands still its time has come before that.
    val sent  = s.sizes
    val other = new Setting(Some(40.millis))
    other.writer.write(entry(0))
    eventually(other.writer.rows shouldBe 1)
    s.sizes shouldBe sent
  }
}
