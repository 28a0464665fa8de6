package io.github.kinesisspark.read.coordinator

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position.{ShardKey, ShardPosition}
import io.github.kinesisspark.position.ShardPosition.AfterSequenceNumber
import io.github.kinesisspark.read.coordinator.ReaderOrders.Changes
import io.github.kinesisspark.read.reader.{ReadOrder, ResolvedPublisher}

class ReaderOrdersSpec extends AnyFunSpec with Matchers with AfterNumbers {
  private def toRead(n: Int, position: Long) = ReadOrder.ShardToRead(shard(n), after(position), None, isClosed = false)
  private def next(from: ReaderOrders, shards: ReadOrder.ShardToRead*) =
    from.next(shards.toVector, ResolvedPublisher.Polling)
  private def changes(
      isOfAllShards: Boolean = false,
      commit: Boolean = false,
      read: Seq[ReadOrder.ShardToRead] = Nil,
      release: Seq[ShardKey] = Nil,
      batchEnds: Seq[(ShardKey, AfterSequenceNumber)] = Nil
  ) = Changes(isOfAllShards, commit, read.toVector, release.toVector, batchEnds.toVector)

  private val (first, _) = next(ReaderOrders.none, toRead(0, 0), toRead(1, 0)).get

  describe("orders to an executor") {
    it("begin with all shards, and then name only those that are new, gone or read from elsewhere") {
      next(ReaderOrders.none, toRead(0, 0)).map(_._2) shouldBe Some(
        changes(isOfAllShards = true, read = Seq(toRead(0, 0)))
      )
      next(first, toRead(0, 0), toRead(1, 0)) shouldBe None
      val (second, changed) = next(first, toRead(0, 5), toRead(2, 0)).get
      changed shouldBe changes(read = Seq(toRead(0, 5), toRead(2, 0)), release = Seq(shard(1)))
      (second.number, second.awaited) shouldBe ((2, 2))
    }

    it("commit a batch in one word, after which only reports that come after it count") {
      val (begun, ends) = first.beginBatch(Vector(shard(0) -> after(7))).get
      ends shouldBe changes(batchEnds = Seq(shard(0) -> after(7)))
      val (committed, changed) = next(begun, toRead(0, 7), toRead(1, 0)).get
      changed shouldBe changes(commit = true)
      (begun.awaited, committed.number, committed.awaited) shouldBe ((1, 3, 3))
      next(committed, toRead(0, 7), toRead(1, 0)) shouldBe None
    }

    it("name all shards from where a batch ends if readers are missing while it runs, but for those that it ends") {
      val (begun, _)         = first.beginBatch(Vector(shard(0) -> after(7))).get
      val (renewed, changed) = begun.renewed.get
      changed.copy(read = changed.read.sortBy(_.shard.shardId)) shouldBe
        changes(isOfAllShards = true, read = Seq(toRead(0, 7), toRead(1, 0)))
      (renewed.number, renewed.epoch) shouldBe ((3, 3))
      next(renewed, toRead(0, 7), toRead(1, 0)) shouldBe None
      val (ended, _) = first.beginBatch(Vector(shard(0) -> ShardPosition.ShardEnd)).get
      ended.renewed.get._2 shouldBe changes(isOfAllShards = true, read = Seq(toRead(1, 0)))
      next(ended.renewed.get._1, toRead(1, 0)) shouldBe None
    }

    it("release shards that tasks of a real-time batch have begun, once they have ended or are read elsewhere") {
      val (_, changed) = next(first.begun(Seq(shard(2), shard(3))), toRead(0, 0), toRead(1, 0), toRead(2, 5)).get
      changed shouldBe changes(read = Seq(toRead(2, 5)), release = Seq(shard(3)))
    }

    it("name shards that tasks of a real-time batch have begun, also where they have read nothing of them") {
      val unread       = ReadOrder.ShardToRead(shard(2), ShardPosition.TrimHorizon, None, isClosed = false)
      val (_, changed) = next(first.begun(Seq(shard(2))), toRead(0, 0), toRead(1, 0), unread).get
      changed shouldBe changes(read = Seq(unread))
    }

    it("have an epoch that grows with each change of shards, and not while a batch moves on in the same ones") {
      first.epoch shouldBe 1
      val (begun, _)     = first.beginBatch(Vector(shard(0) -> after(7))).get
      val (committed, _) = next(begun, toRead(0, 7), toRead(1, 3)).get
      (begun.epoch, committed.number, committed.epoch) shouldBe ((1, 3, 1))
      next(committed, toRead(0, 7)).get._1.epoch shouldBe 4
      next(committed, toRead(0, 7), toRead(1, 3), toRead(2, 0)).get._1.epoch shouldBe 4
      next(committed, toRead(0, 7), toRead(2, 0)).get._1.epoch shouldBe 4
      next(committed.undone(order = 3), toRead(0, 7), toRead(1, 3)).get._1.epoch shouldBe 4
    }

    it("name all shards again if they are read through another consumer") {
      val fanOut = ResolvedPublisher.FanOut(Map.empty)
      first.next(Vector(toRead(0, 0)), fanOut).map(_._2) shouldBe Some(
        changes(isOfAllShards = true, read = Seq(toRead(0, 0)))
      )
    }

    it("name a shard that continues elsewhere than its batch ended") {
      val (begun, _) = first.beginBatch(Vector(shard(0) -> after(7))).get
      next(begun, toRead(0, 3), toRead(1, 0)).map(_._2) shouldBe Some(changes(commit = true, read = Seq(toRead(0, 3))))
    }

    it("count as reported by the report of the first one, however often they are repeated unchanged") {
      val repeated =
        next(next(first.undone(1), toRead(0, 0), toRead(1, 0)).get._1.undone(2), toRead(0, 0), toRead(1, 0)).get._1
      (repeated.number, repeated.lastOfAllShards, repeated.awaited) shouldBe ((3, 3, 1))
      next(first.undone(1), toRead(0, 0)).get._1.awaited shouldBe 2
    }

    it("name all shards again after one that may be lost, and no batch begins until then") {
      val (second, _) = next(first, toRead(0, 5)).get
      second.undone(order = 2).beginBatch(Vector(shard(0) -> after(7))) shouldBe None
      val (third, changed) = next(second.undone(order = 2), toRead(0, 5)).get
      changed shouldBe changes(isOfAllShards = true, read = Seq(toRead(0, 5)))
      // An older one doesn't matter any more.
      next(third.undone(order = 2), toRead(0, 5)) shouldBe None
    }
  }
}
