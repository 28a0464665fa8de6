package io.github.kinesisspark.read.realtime

import scala.collection.mutable
import scala.concurrent.duration._

import org.apache.spark.sql.types.StructType
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aggregation.{UserRecord, UserRecords}
import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.ChildHandover
import io.github.kinesisspark.read.reader.{KinesisRecord, MemoryBudget, ScriptedPublishers, ShardReader}
import io.github.kinesisspark.read.row.{RecordRows, SourceSchema}

class TaskFeedSpec extends AnyFunSpec with Matchers with AfterNumbers with EventuallyInAMinute {
  private def record(n: Long, text: String, data: Option[Array[Byte]] = None) =
    KinesisRecord(number(n), "key", data.getOrElse(text.getBytes), 1000 + n)
  private def shardOf(n: Int, parents: Int*) = Shard(shardId(n), parents.map(shardId), HashKeyRange.all, closed = false)

  private val columns = StructType(SourceSchema.schema.filter(_.name == "data"))

  /** A task over readers whose publishers bring what a test says. */
  private final class Setting(
      failOnDataLoss: Boolean,
      known: ChildHandover,
      failsByErrors: Boolean,
      shards: (Int, ShardPosition)*
  ) {
    def this(failOnDataLoss: Boolean, shards: (Int, ShardPosition)*) =
      this(failOnDataLoss, ChildHandover(Set.empty), true, shards: _*)
    def this(shards: (Int, ShardPosition)*) = this(true, shards: _*)

    val memory     = new MemoryBudget(_.run())
    val member     = memory.join(1 << 20)
    val publishers = mutable.Map.empty[ShardKey, ScriptedPublishers]
    val readers    = mutable.Map.empty[ShardKey, ShardReader]
    val closed     = mutable.Set.empty[ShardKey]

    val feed = new TaskFeed(
      shards.map { case (n, from) => shard(n) -> from }.toVector,
      known,
      failsByErrors,
      (key, from, _, onNews) => follow(key, from, onNews)
    )

    private def follow(key: ShardKey, from: ShardPosition, onNews: () => Unit): FollowedShard = {
      val by     = new ScriptedPublishers
      val reader = new ShardReader(key, from, None, by, member, _ => (), onNews)
      publishers(key) = by
      readers(key) = reader
      reader.demand()
      val rows = new RecordRows(ShardRange(key, from, ShardEnd), columns, Some(HashKeyRange.all))
      new FollowedShard(key, from, reader, rows, failOnDataLoss, leave = () => closed += key: Unit)
    }

    def bring(n: Int, position: ShardPosition, records: KinesisRecord*): Unit = {
      readers(shard(n)).memory.take(_ => heapOf(records: _*))(_ => ())
      publishers(shard(n)).last.bring(position, 0, records: _*)
    }

    def end(n: Int, children: Shard*): Unit = publishers(shard(n)).last.end(children.toVector)

    def texts(count: Int): Seq[String] =
      Iterator.continually(feed.next(30.seconds)).map(_.map(r => new String(r.getBinary(0)))).take(count).flatten.toSeq

    def none(): Unit = feed.next(Duration.Zero) shouldBe None

    def positions: Map[ShardKey, ShardPosition] = feed.reads.map(r => r.shard -> r.taken.position).toMap
  }

  describe("a task of a real-time batch") {
    it("yields the next record of any of its shards with its arrival time") {
      val s = new Setting(0 -> after(0), 1 -> TrimHorizon)
      s.bring(1, after(5), record(5, "b"))
      s.texts(1) shouldBe Seq("b")
      s.feed.arrivalMillis shouldBe 1005
      s.bring(0, after(1), record(1, "a"))
      s.texts(1) shouldBe Seq("a")
      s.none()
      s.positions shouldBe Map(shard(0) -> after(1), shard(1) -> after(5))
    }

    it("wakes up if a record arrives while it waits") {
      val s      = new Setting(0 -> after(0), 1 -> TrimHorizon)
      var texts  = Seq.empty[String]
      val waiter = new Thread(() => texts = s.texts(1))
      waiter.start()
      eventually(Seq(Thread.State.TIMED_WAITING, Thread.State.WAITING) should contain(waiter.getState))
      s.bring(1, after(5), record(5, "b"))
      waiter.join(30000)
      texts shouldBe Seq("b")
    }

    it("lets a shard read beyond the budget where shards that no task reads hold all memory") {
      val s     = new Setting(0 -> after(0))
      val other = s.member.account()
      other.take(_ => 900L << 10)(_ => ())
      var granted = 0L
      s.readers(shard(0)).memory.take(_ => 200L << 10)(granted = _)
      granted shouldBe 0
      s.feed.next(1.second) shouldBe None
      granted shouldBe (200L << 10)
    }

    it("lets shards read beyond the budget one after the other, each in its turn") {
      val s     = new Setting(0 -> after(0), 1 -> after(0))
      val other = s.member.account()
      other.take(_ => 900L << 10)(_ => ())
      val served            = mutable.Buffer.empty[Int]
      def ask(n: Int): Unit = s.readers(shard(n)).memory.take(_ => 200L << 10)(_ => served += n): Unit
      ask(0)
      ask(1)
      s.feed.next(1200.millis) shouldBe None
      served shouldBe Seq(0)
      // It has brought nothing, and asks again.
      s.readers(shard(0)).memory.giveBack(200L << 10)
      ask(0)
      s.feed.next(1200.millis) shouldBe None
      served shouldBe Seq(0, 1)
    }

    it("can be interrupted while it waits") {
      val s      = new Setting(0 -> after(0))
      var ended  = false
      val waiter = new Thread(() =>
        try s.feed.next(1.hour): Unit
        catch { case _: InterruptedException => ended = true }
      )
      waiter.start()
      eventually(Seq(Thread.State.TIMED_WAITING, Thread.State.WAITING) should contain(waiter.getState))
      waiter.interrupt()
      waiter.join(30000)
      ended shouldBe true
    }

    it("gives each shard its turn if another one has many records") {
      val s    = new Setting(0 -> after(0), 1 -> after(0))
      val many = (1 to 2000).map(n => record(n.toLong, s"hot-$n"))
      s.bring(0, after(2000), many: _*)
      s.bring(1, after(1), record(1, "cold"))
      val texts = s.texts(2001)
      texts.indexOf("cold") should be < 1000
      texts.filterNot(_ == "cold") shouldBe many.map(r => new String(r.data))
    }

    it("reports the position of the last yielded row, and frees the memory of yielded records") {
      val s = new Setting(0 -> after(0))
      s.bring(0, after(3), record(1, "a"), record(2, "b"), record(3, "c"))
      s.texts(2) shouldBe Seq("a", "b")
      s.positions(shard(0)) shouldBe after(2)
      s.texts(1)
      s.none()
      s.memory.used shouldBe 0
      s.readers(shard(0)).dropTo(after(3)) shouldBe true
    }

    it("advances its position with the reader if there are no records") {
      val s = new Setting(0 -> AtTimestamp(5))
      s.bring(0, after(9))
      s.none()
      s.positions(shard(0)) shouldBe after(9)
    }

    it("can end within an aggregated record, and the next task yields the rest") {
      def user(text: String) = UserRecord(text.getBytes, "key")
      val payload            = UserRecords.aggregated(Seq("a", "b", "c", "d").map(user))
      def bring(s: Setting)  = s.bring(0, after(8), record(7, "", Some(payload)), record(8, "e"))
      val s                  = new Setting(0 -> after(0))
      bring(s)
      s.texts(2) shouldBe Seq("a", "b")
      val within = s.positions(shard(0))
      within shouldBe Within(number(7), 2)
      val next = new Setting(0 -> within)
      bring(next)
      next.texts(2) shouldBe Seq("c", "d")
      next.positions(shard(0)) shouldBe after(7)
      next.texts(1) shouldBe Seq("e")
      next.none()
      next.positions(shard(0)) shouldBe after(8)
    }

    for (failOnDataLoss <- Seq(true, false))
      it(s"that begins with a record that is gone ${if (failOnDataLoss) "fails" else "yields what is left"}") {
        val s = new Setting(failOnDataLoss, 0 -> Within(number(7), 2))
        s.bring(0, after(9), record(9, "later"))
        if (failOnDataLoss) (the[KinesisException] thrownBy s.none()).errorClass shouldBe "KINESIS_DATA_LOSS"
        else s.texts(1) shouldBe Seq("later")
      }

    it("continues with the children if a shard ends, and reports them") {
      val s = new Setting(0 -> after(0))
      s.bring(0, after(1), record(1, "parent"))
      s.texts(1)
      s.end(0, shardOf(1, 0), shardOf(2, 0))
      s.none()
      s.bring(2, after(2), record(2, "child"))
      s.texts(1) shouldBe Seq("child")
      s.positions shouldBe Map(shard(0) -> ShardEnd, shard(1) -> TrimHorizon, shard(2) -> after(2))
      s.feed.reads.map(r => r.shard -> r.isBegun) shouldBe
        Vector(shard(0) -> false, shard(1) -> true, shard(2) -> true)
    }

    it("starts the child of a merge after the last record of both parents") {
      val s = new Setting(0 -> after(0), 1 -> after(0))
      s.end(0, shardOf(2, 0, 1))
      s.none()
      s.publishers.keySet shouldBe Set(shard(0), shard(1))
      s.bring(1, after(4), record(4, "late"))
      s.end(1, shardOf(2, 0, 1))
      s.texts(1) shouldBe Seq("late")
      s.none()
      s.publishers.keySet should contain(shard(2))
    }

    it("leaves a child alone that is read already, as a given position named it beside its parent") {
      val s = new Setting(true, ChildHandover(Set.empty, begun = Set(shard(1))), true, 0 -> after(0), 1 -> after(5))
      s.bring(1, after(6), record(6, "child"))
      s.end(0, shardOf(1, 0), shardOf(2, 0))
      s.texts(1) shouldBe Seq("child")
      s.none()
      s.positions shouldBe Map(shard(0) -> ShardEnd, shard(1) -> after(6), shard(2) -> TrimHorizon)
    }

    it("fails by an Error in a reader, and leaves the shard to the next planning if it shall not fail") {
      for (failsByErrors <- Seq(false, true)) {
        val s = new Setting(true, ChildHandover(Set.empty), failsByErrors, 0 -> after(0))
        s.publishers(shard(0)).last.fail("KINESIS_CALL_FAILED", FailureReason.BrokenJvm)
        if (failsByErrors) a[KinesisException] should be thrownBy s.none() else s.none()
      }
    }

    it("leaves a shard to the next planning if its reader fails with NotFound or ConsumerInUse") {
      for (reason <- Seq(FailureReason.NotFound, FailureReason.ConsumerTaken)) {
        val s = new Setting(0 -> after(0), 1 -> after(0))
        s.publishers(shard(0)).last.fail("KINESIS_FAILED", reason)
        s.none()
        s.bring(1, after(1), record(1, "other"))
        s.texts(1) shouldBe Seq("other")
        s.positions(shard(0)) shouldBe after(0)
      }
    }

    it("fails with any other reader failure, after the records before it") {
      val s = new Setting(0 -> after(0))
      s.bring(0, after(1), record(1, "a"))
      s.publishers(shard(0)).last.fail("KINESIS_ACCESS_DENIED")
      s.texts(1) shouldBe Seq("a")
      (the[KinesisException] thrownBy s.none()).errorClass shouldBe "KINESIS_ACCESS_DENIED"
    }

    it("fails if its reader has dropped records that it has not yielded") {
      val s = new Setting(0 -> after(0))
      s.bring(0, after(2), record(1, "a"), record(2, "b"))
      s.readers(shard(0)).dropTo(after(1))
      an[IllegalStateException] should be thrownBy s.none()
    }

    it("closes its readers and those of started children") {
      val s = new Setting(0 -> after(0))
      s.end(0, shardOf(1, 0))
      s.none()
      s.feed.close()
      s.closed shouldBe Set(shard(0), shard(1))
    }
  }
}
