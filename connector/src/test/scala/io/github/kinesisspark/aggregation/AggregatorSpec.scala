package io.github.kinesisspark.aggregation

import java.nio.charset.StandardCharsets.UTF_8

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.aggregation.UserRecords._
import io.github.kinesisspark.position.{HashKey, HashKeyRange, Shard}

class AggregatorSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 200)

  private val sizes: Gen[Int] = Gen.choose(30, 4000)

  private def allPuts(shards: Iterable[Shard], maxBytes: Int, records: Iterable[UserRecord]) = {
    val aggregator = new Aggregator[UserRecord](shards, maxBytes)
    records.toVector.flatMap(aggregator.add) ++ aggregator.flush()
  }

  /** Where the service puts it. */
  private def takenBy(put: KinesisPut[UserRecord], shards: Seq[Shard]) = {
    val key = put.explicitHashKey.getOrElse(HashKey.of(put.partitionKey))
    shards.find(_.hashKeys.contains(key))
  }

  private def read(put: KinesisPut[UserRecord], shard: HashKeyRange) = AggregatedRecord.read(put.data) match {
    case all: AggregatedRecord.Aggregated => all.within(shard).map(user => shown(user.record))
    case _                                => Vector(shown(UserRecord(put.data, put.partitionKey, put.explicitHashKey)))
  }

  /** What the service's limits count: data and key. */
  private def bytes(put: KinesisPut[UserRecord]) = put.data.length + put.partitionKey.getBytes(UTF_8).length

  private def keyed(n: Int, key: BigInt) = UserRecord(Array.fill(10)(n.toByte), "k", Some(key))

  private val one   = Shard("shardId-000000000000", Nil, HashKeyRange.all, closed = false)
  private val left  = Shard("shardId-000000000001", Seq(one.id), HashKeyRange(0, HashKey.Last / 2), closed = false)
  private val right =
    Shard("shardId-000000000002", Seq(one.id), HashKeyRange(HashKey.Last / 2 + 1, HashKey.Last), false)
  private val split = Seq(one.copy(closed = true), left, right)

  describe("records from the aggregator") {
    it("go to their intended shard and hold only user records of that shard") {
      forAll(shards, sizes, some) { (shards, maxBytes, records) =>
        allPuts(shards, maxBytes, records).foreach { put =>
          takenBy(put, shards) shouldBe put.shard
          put.records.foreach(r => put.shard.get.hashKeys.contains(r.hashKey) shouldBe true)
          put.toPutAgain(put.shard.get.hashKeys) shouldBe empty
        }
      }
    }

    it("decode to every user record once and in order per shard, also in the KCL") {
      forAll(shards, sizes, some) { (shards, maxBytes, records) =>
        val puts = allPuts(shards, maxBytes, records)
        shards.foreach { shard =>
          val there = puts.filter(put => takenBy(put, shards).contains(shard))
          there.flatMap(read(_, shard.hashKeys)) shouldBe
            records.filter(r => shard.hashKeys.contains(r.hashKey)).map(shown)
          val aggregates = there.filter(_.records.sizeIs > 1)
          aggregates.flatMap(p => toKcl(p.data, shard.hashKeys)).map(r => shown(r._1)) shouldBe
            aggregates.flatMap(_.records).map(shown)
        }
      }
    }

    it("stay within the limit unless they hold a single user record") {
      forAll(shards, sizes, some) { (shards, maxBytes, records) =>
        allPuts(shards, maxBytes, records).filter(_.records.sizeIs > 1).foreach { put =>
          bytes(put) should be <= maxBytes
        }
      }
    }
  }

  describe("an aggregator") {
    it("fills records up to the byte limit") {
      val records = (1 to 1000).map(keyed(_, 1))
      val puts    = allPuts(Seq(one), maxBytes = 500, records)
      puts.init.foreach(put => bytes(put) should be > 500 - 20)
    }

    it("emits a single user record in its original form") {
      val plain = UserRecord("x".getBytes, "key")
      allPuts(Seq(one), 50 << 10, Seq(plain)).map(p => (p.data, p.partitionKey, p.explicitHashKey)) shouldBe
        Vector((plain.data, "key", None))
    }

    it("emits a user record beyond the byte limit alone, after the records before it") {
      val large = UserRecord(new Array[Byte](1000), "k", Some(1))
      val puts  = allPuts(Seq(one), 500, Seq(keyed(1, 1), keyed(2, 1), large, keyed(3, 1)))
      puts.map(_.records.size) shouldBe Vector(2, 1, 1)
      puts(1).data shouldBe large.data
    }

    it("emits a user record alone if no open shard is known for its hash key") {
      val aggregator = new Aggregator[UserRecord](split.filterNot(_ == right), 50 << 10)
      val puts       = Seq(keyed(1, 0), keyed(2, HashKey.Last)).flatMap(aggregator.add)
      puts.map(p => (p.records.head.hashKey, p.shard)) shouldBe Vector((HashKey.Last, None))
      aggregator.flush().map(_.shard) shouldBe Vector(Some(left))
    }

    it("has nothing to put after a flush, and begins a new record with the next user record") {
      val aggregator = new Aggregator[UserRecord](Seq(one), 50 << 10)
      Seq(keyed(1, 1), keyed(2, 2)).flatMap(aggregator.add) shouldBe empty
      aggregator.flush().map(_.records.size) shouldBe Vector(2)
      aggregator.flush() shouldBe empty
      aggregator.add(keyed(3, 1)) shouldBe empty
      aggregator.flush().map(put => shown(put.records.head)) shouldBe Vector(shown(keyed(3, 1)))
    }

    it("counts the memory of records that grow, and nothing for a user record that is put alone") {
      val aggregator = new Aggregator[UserRecord](Seq(one), 500)
      aggregator.add(UserRecord(new Array[Byte](1000), "k", Some(1))) should have size 1
      aggregator.heldBytes shouldBe 0
      Seq(keyed(1, 1), keyed(2, 2)).flatMap(aggregator.add) shouldBe empty
      aggregator.heldBytes should be > 20L
      aggregator.flush() should have size 1
      aggregator.heldBytes shouldBe 0
    }
  }

  describe("an aggregator after a reshard") {
    it("repeats a whole aggregated record if readers of its shard would drop any of it") {
      val mixed = allPuts(Seq(one), 50 << 10, Seq(keyed(1, 1), keyed(2, HashKey.Last))).head
      takenBy(mixed, Seq(left, right)) shouldBe Some(left)
      mixed.toPutAgain(left.hashKeys) shouldBe mixed.records
      val pure = allPuts(Seq(one), 50 << 10, Seq(keyed(1, 1), keyed(2, 2))).head
      pure.toPutAgain(left.hashKeys) shouldBe empty
    }

    it("puts nothing into a closed shard that is still listed") {
      allPuts(split, 50 << 10, Seq(keyed(1, 1), keyed(2, 2), keyed(3, HashKey.Last))).map(_.shard) shouldBe
        Vector(Some(left), Some(right))
    }
  }
}
