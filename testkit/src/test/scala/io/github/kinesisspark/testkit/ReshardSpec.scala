package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import java.util.concurrent.CompletableFuture
import scala.jdk.CollectionConverters._

/** Tests SplitShard, MergeShards and UpdateShardCount, and their results for readers. */
class ReshardSpec extends ServerSpec {
  import Clients._

  private def updateCount(stream: String, target: Int): UpdateShardCountResponse =
    await(kinesis.updateShardCount { (b: UpdateShardCountRequest.Builder) =>
      b.streamName(stream).targetShardCount(target).scalingType(ScalingType.UNIFORM_SCALING); ()
    })

  private def split(stream: String, shard: String, at: String): Unit = {
    await(kinesis.splitShard { (b: SplitShardRequest.Builder) =>
      b.streamName(stream).shardToSplit(shard).newStartingHashKey(at); ()
    })
    ()
  }

  private def merge(stream: String, shard: String, adjacent: String): Unit = {
    await(kinesis.mergeShards { (b: MergeShardsRequest.Builder) =>
      b.streamName(stream).shardToMerge(shard).adjacentShardToMerge(adjacent); ()
    })
    ()
  }

  it("iterators of a split shard end after its last record with its child shards") {
    val stream = newStream(1)
    server.streams.put(stream, "k", "a")
    server.streams.put(stream, "k", "b")
    val begin  = kinesis.iterator(stream, shardId(0))
    val latest = kinesis.iterator(stream, shardId(0), ShardIteratorType.LATEST)
    split(stream, shardId(0), "1000")
    val first = kinesis.get(begin, limit = Some(1))
    first.nextShardIterator should not be null
    first.childShards shouldBe empty
    val last = kinesis.get(first.nextShardIterator)
    last.records.asScala.map(_.data.asUtf8String) shouldBe Vector("b")
    last.nextShardIterator shouldBe null
    last.millisBehindLatest shouldBe 0
    last.childShards.asScala.map(c =>
      (c.shardId, c.parentShards.asScala.toVector, c.hashKeyRange.startingHashKey)
    ) shouldBe
      Vector((shardId(1), Vector(shardId(0)), "0"), (shardId(2), Vector(shardId(0)), "1000"))
    kinesis.get(latest).nextShardIterator shouldBe null
    kinesis.get(kinesis.iterator(stream, shardId(0), ShardIteratorType.LATEST)).nextShardIterator shouldBe null
  }

  it("a merge's child lists its parents, and its sequence numbers are above theirs") {
    val stream = newStream(2)
    val put    = server.streams.putInto(stream, shardId(0), "k", Array.empty[Byte]).sequenceNumber
    merge(stream, shardId(1), shardId(0))
    val shards  = kinesis.shards(stream)
    val parents = shards.take(2)
    val child   = shards(2)
    child.parentShardId shouldBe shardId(1)
    child.adjacentParentShardId shouldBe shardId(0)
    child.sequenceNumberRange.endingSequenceNumber shouldBe null
    BigInt(parents.head.sequenceNumberRange.endingSequenceNumber) should be > BigInt(put)
    val childNumber = server.streams.put(stream, "k", "x").sequenceNumber
    parents.foreach { parent =>
      BigInt(child.sequenceNumberRange.startingSequenceNumber) should be > BigInt(
        parent.sequenceNumberRange.endingSequenceNumber
      )
      BigInt(childNumber) should be > BigInt(parent.sequenceNumberRange.endingSequenceNumber)
    }
  }

  it("invalid splits and merges are refused") {
    val stream = newStream(3)
    val end    = server.streams.shards(stream).head.range.end
    for (at <- Seq(BigInt(0), BigInt(1), end, end + 1))
      (the[InvalidArgumentException] thrownBy split(stream, shardId(0), s"$at")).awsErrorDetails.errorMessage should
        include(s"greater than one plus the shard's StartingHashKey 0 and less than the shard's EndingHashKey $end")
    an[InvalidArgumentException] should be thrownBy merge(stream, shardId(0), shardId(2))
    a[ResourceNotFoundException] should be thrownBy split(stream, shardId(8), "5")
    split(stream, shardId(0), "5")
    an[InvalidArgumentException] should be thrownBy split(stream, shardId(0), "5")
  }

  it("UpdateShardCount accepts targets from half to double the number of shards") {
    val stream = newStream(4)
    val answer = updateCount(stream, 6)
    (answer.currentShardCount.intValue, answer.targetShardCount.intValue) shouldBe ((4, 6))
    def open = server.streams.shards(stream).filter(_.isOpen).map(_.range).sortBy(_.start)
    open shouldBe model.HashRange.uniform(6)
    updateCount(stream, 3)
    open shouldBe model.HashRange.uniform(3)
    a[LimitExceededException] should be thrownBy updateCount(stream, 7)
    a[LimitExceededException] should be thrownBy updateCount(stream, 1)
  }

  it("records written during reshards are stored exactly once") {
    val stream  = newStream(2)
    val writers = Vector.tabulate(4) { w =>
      val thread = new Thread(() => (1 to 500).foreach(i => server.streams.put(stream, s"$w-$i", s"$w-$i")))
      thread.start()
      thread
    }
    Vector(4, 3, 6, 3, 5).foreach(updateCount(stream, _))
    writers.foreach(_.join())
    val read = server.streams.shards(stream).flatMap(s => kinesis.readAll(stream, s.id))
    read should contain theSameElementsAs (for (w <- 0 until 4; i <- 1 to 500) yield s"$w-$i")
  }

  it("concurrent reads and splits never end a shard without its children") {
    (1 to 40).foreach { _ =>
      val stream = newStream(1)
      val last   = CompletableFuture.supplyAsync { () =>
        Iterator
          .iterate(kinesis.get(kinesis.iterator(stream, shardId(0))))(a => kinesis.get(a.nextShardIterator))
          .find(_.nextShardIterator == null)
          .get
      }
      server.streams.split(stream, shardId(0))
      await(last).childShards.asScala.map(_.shardId) shouldBe Vector(shardId(1), shardId(2))
    }
  }

  it("a shard closes no earlier than its latest record arrives") {
    val stream = newStream(1)
    clock.advance(Duration.ofSeconds(1))
    val latest = clock.instant
    server.streams.put(stream, "k", "data")
    clock.set(latest.minusMillis(500))
    server.streams.split(stream, shardId(0))
    clock.set(latest)
    server.streams.shards(stream).head.closedAt shouldBe Some(latest.toEpochMilli)
  }

  it("a closed shard is removed once all its records are past retention") {
    val stream = newStream(1)
    split(stream, shardId(0), "1000")
    val iterator = kinesis.iterator(stream, shardId(0))
    clock.advance(Duration.ofHours(24))
    kinesis.shards(stream).map(_.shardId) should contain(shardId(0))
    clock.advance(Duration.ofMillis(1))
    kinesis.shards(stream).map(_.shardId) shouldBe Vector(shardId(1), shardId(2))
    a[ResourceNotFoundException] should be thrownBy kinesis.iterator(stream, shardId(0))
    an[ExpiredIteratorException] should be thrownBy kinesis.get(iterator)
  }

  describe("ListShards") {
    it("continues with a token that excludes other parameters and lives 300 seconds") {
      val stream                                        = newStream(5)
      def page(make: ListShardsRequest.Builder => Unit) =
        await(kinesis.listShards((b: ListShardsRequest.Builder) => make(b)))
      val first = page { b => b.streamName(stream).maxResults(3); () }
      first.shards.asScala.map(_.shardId) shouldBe Vector(0, 1, 2).map(shardId)
      val second = page { b => b.nextToken(first.nextToken).maxResults(3); () }
      second.shards.asScala.map(_.shardId) shouldBe Vector(3, 4).map(shardId)
      second.nextToken shouldBe null
      an[InvalidArgumentException] should be thrownBy page { b => b.nextToken(first.nextToken).streamName(stream); () }
      an[InvalidArgumentException] should be thrownBy page { b => b.nextToken("made-up"); () }
      clock.advance(Duration.ofSeconds(301))
      an[ExpiredNextTokenException] should be thrownBy page { b => b.nextToken(first.nextToken); () }
    }

    it("gives 1,000 shards at most, however many are asked for") {
      val stream = newStream(1001)
      val first  = await(kinesis.listShards { (b: ListShardsRequest.Builder) =>
        b.streamName(stream).maxResults(10000); ()
      })
      first.shards should have size 1000
      first.nextToken should not be null
    }

    it("filters by state and by time") {
      val stream = newStream(1)
      val before = clock.instant
      clock.advance(Duration.ofSeconds(1))
      split(stream, shardId(0), "1000")
      clock.advance(Duration.ofMillis(1))
      val after                                                                      = clock.instant
      def listed(kind: ShardFilterType, more: ShardFilter.Builder => Unit = _ => ()) = kinesis
        .shards(
          stream,
          b => {
            b.shardFilter((f: ShardFilter.Builder) => more(f.`type`(kind)))
            ()
          }
        )
        .map(_.shardId)
      listed(ShardFilterType.AT_LATEST) shouldBe Vector(1, 2).map(shardId)
      listed(ShardFilterType.AT_TRIM_HORIZON) shouldBe Vector(shardId(0))
      listed(ShardFilterType.FROM_TRIM_HORIZON) shouldBe Vector(0, 1, 2).map(shardId)
      listed(ShardFilterType.AT_TIMESTAMP, f => { f.timestamp(before); () }) shouldBe Vector(shardId(0))
      listed(ShardFilterType.FROM_TIMESTAMP, f => { f.timestamp(after); () }) shouldBe Vector(1, 2).map(shardId)
      listed(ShardFilterType.AFTER_SHARD_ID, f => { f.shardId(shardId(1)); () }) shouldBe Vector(shardId(2))
      val tooOld = after.minus(Duration.ofHours(25))
      listed(ShardFilterType.FROM_TIMESTAMP, f => { f.timestamp(tooOld); () }) shouldBe Vector(0, 1, 2).map(shardId)
      an[InvalidArgumentException] should be thrownBy
        listed(ShardFilterType.AT_TIMESTAMP, f => { f.timestamp(tooOld); () })
    }
  }
}
