package io.github.kinesisspark.read.coordinator

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReadOrder, ResolvedPublisher}

class OrdersMeanwhileSpec extends AnyFunSpec with Matchers with AfterNumbers {
  private def executor(n: Int)               = ExecutorId("host", n.toString)
  private def toRead(n: Int, position: Long) = ReadOrder.ShardToRead(shard(n), after(position), None, isClosed = false)
  private def orders(shards: ReadOrder.ShardToRead*) =
    ReaderOrders.none.next(shards.toVector, ResolvedPublisher.Polling).get._1
  private def left(all: (Int, ReaderOrders)*) = {
    val ids = all.map { case (n, known) => executor(n) -> known }.toMap
    OrdersMeanwhile(
      ids,
      ids.keySet,
      ids.values.map(_.number).max,
      ResolvedPublisher.Polling,
      resting = Set.empty,
      isFollowed = false
    )
  }

  /** In a batch that ends there. */
  private def begun(known: ReaderOrders, ends: (Int, ShardPosition)*) =
    known.beginBatch(ends.map { case (n, end) => shard(n) -> end }.toVector).get._1

  describe("the shards of an executor that is lost within a batch") {
    val batch = begun(orders(toRead(0, 0), toRead(1, 0), toRead(2, 0)), 0 -> after(7), 2 -> ShardPosition.ShardEnd)

    it("are read from where the batch ends, but for those that it ends, by an executor that has read nothing") {
      val (now, sent) = left(1 -> batch).reassigned(Set(executor(1)), Set(executor(2))).get
      sent.map { case (id, (_, change)) => (id, change.isOfAllShards, change.read) } shouldBe
        Seq((executor(1), false, Vector.empty), (executor(2), true, Vector(toRead(0, 7), toRead(1, 0))))
      sent.head._2._2.release.toSet shouldBe Set(shard(0), shard(1), shard(2))
      now.orders(executor(2)).number should be > batch.number
      now.reading shouldBe Set(executor(2))
      now.moved shouldBe Map(shard(0) -> executor(2), shard(1) -> executor(2))
      now.reassigned(Set(executor(1)), Set(executor(2))) shouldBe None
    }

    it("are divided among those that read, which keep their own and have the batch's records dropped only after it") {
      val second      = begun(orders(toRead(3, 0)), 3 -> after(3))
      val (now, sent) =
        left(1 -> batch, 2 -> second, 3 -> orders(toRead(4, 0)))
          .reassigned(Set(executor(1)), Set(executor(2), executor(3)))
          .get
      now.moved shouldBe Map(shard(0) -> executor(2), shard(1) -> executor(3))
      sent.find(_._1 == executor(2)).map(_._2._2) shouldBe
        Some(
          ReaderOrders.Changes(isOfAllShards = false, commit = false, Vector(toRead(0, 7)), Vector.empty, Vector.empty)
        )
      val known           = now.orders(executor(2))
      val (_, afterwards) = known.next(Vector(toRead(0, 7), toRead(3, 3)), ResolvedPublisher.Polling).get
      (afterwards.commit, afterwards.read, afterwards.release) shouldBe ((true, Vector.empty, Vector.empty))
      (known.epoch, known.awaited) shouldBe ((known.number, known.number))
    }

    it("stay where no other executor answers, or orders have failed at the others") {
      left(1 -> batch).reassigned(Set(executor(1)), Set(executor(1))) shouldBe None
      left(1 -> batch).copy(resting = Set(executor(2))).reassigned(Set(executor(1)), Set(executor(2))) shouldBe None
    }

    it("stay where tasks of a real-time batch follow their readers, which run elsewhere as a whole then") {
      left(1 -> batch).copy(isFollowed = true).reassigned(Set(executor(1)), Set(executor(2))) shouldBe None
    }

    it("go to a third if the second is lost, too") {
      val (now, _)    = left(1 -> batch).reassigned(Set(executor(1)), Set(executor(2))).get
      val (_, orders) = now.reassigned(Set(executor(1), executor(2)), Set(executor(3))).get
      orders.map(_._1) shouldBe Seq(executor(2), executor(3))
      orders.last._2._2.read shouldBe Vector(toRead(0, 7), toRead(1, 0))
    }
  }

  describe("readers that are missing") {
    it("are ordered again as often as they are found missing, unless an order may be under way") {
      val known        = orders(toRead(0, 0))
      val (once, _)    = left(1 -> known).renewed("1").get
      val (twice, all) = once.renewed("1").get
      all.map(_._2._2.read) shouldBe Seq(Vector(toRead(0, 0)))
      (once.lastNumber, twice.lastNumber) shouldBe ((2, 3))
      left(1 -> known.undone(known.number)).renewed("1") shouldBe None
      left(1 -> known).renewed("2") shouldBe None
    }
  }

  describe("an order that may be lost within a batch") {
    val known = orders(toRead(0, 0))

    it("is sent again, whole, if the executor has not carried it out") {
      val lost        = left(1 -> known).undone(Map("1" -> known.number))
      val (now, sent) = lost.repeated("1", applied = known.number - 1).get
      sent.map { case (id, (_, change)) => (id, change.isOfAllShards, change.read) } shouldBe
        Seq((executor(1), true, Vector(toRead(0, 0))))
      now.repeated("1", applied = known.number - 1) shouldBe None
      lost.repeated("1", applied = known.number) shouldBe None
      lost.copy(resting = Set(executor(1))).repeated("1", applied = known.number - 1) shouldBe None
      left(1 -> known).undone(Map("2" -> known.number)).repeated("1", applied = known.number - 1) shouldBe None
    }

    it("is followed by one of all shards where the executor takes others' then") {
      val lost      = left(1 -> orders(toRead(1, 0)), 2 -> known).undone(Map("2" -> known.number))
      val (_, sent) = lost.reassigned(Set(executor(1)), Set(executor(2))).get
      sent.collect { case (id, (_, change)) if id == executor(2) => (change.isOfAllShards, change.read) } shouldBe
        Seq((true, Vector(toRead(0, 0), toRead(1, 0))))
    }
  }
}
