package io.github.kinesisspark.it.conformance

import java.math.BigInteger

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, TestStream}
import io.github.kinesisspark.it.TestStream._

/** SplitShard, MergeShards and UpdateShardCount, and their results for readers. */
trait ReshardScenarios { this: Conformance with ListShardsScenarios =>

  private def split(stream: TestStream, shard: Shard, at: BigInteger): Any = service.callOnce(
    _.splitShard(r => r.streamName(stream.name).shardToSplit(shard.shardId).newStartingHashKey(at.toString))
  )

  private def merge(stream: TestStream, one: Shard, other: Shard): Any = service.callOnce(
    _.mergeShards(r => r.streamName(stream.name).shardToMerge(one.shardId).adjacentShardToMerge(other.shardId))
  )

  private def update(stream: TestStream, shards: Int): UpdateShardCountResponse = service.callOnce(
    _.updateShardCount(r => r.streamName(stream.name).targetShardCount(shards).scalingType(ScalingType.UNIFORM_SCALING))
  )

  /** Two shards that hold one record each, then merged. */
  private def withMerged(body: (TestStream, Seq[Shard], Shard) => Any): Unit = withStream(2) { stream =>
    val before = stream.openShards()
    before.foreach(shard => stream.putAt(startingHash(shard), shard.shardId))
    merge(stream, before.head, before.last)
    eventually(stream.openShards() should have size 1)
    awaitActive(stream)
    body(stream, before, stream.onlyShard())
    ()
  }

  /** One shard with records "1" to "3", split, then "4" in each child. */
  private def withSplit(body: (TestStream, Shard, Seq[Shard], Seq[String]) => Any): Unit = withStream(1) { stream =>
    val numbers = (1 to 3).map(n => stream.put(s"$n").sequenceNumber)
    splitInTwo(stream)
    stream.openShards().foreach(child => stream.putAt(startingHash(child), "4"))
    val parent = stream.shards().filterNot(isOpen).head
    body(stream, parent, stream.openShards(), numbers)
    ()
  }

  /** What becomes of two equal shards when three are asked for. */
  private def withThreeOfTwo(body: Seq[Shard] => Any): Unit = withStream(2) { stream =>
    update(stream, 3)
    eventually {
      stream.openShards() should have size 3
      stream.status() shouldBe StreamStatus.ACTIVE
    }
    body(stream.openShards())
    ()
  }

  private def onDemand(body: TestStream => Any): Unit = withStream(4) { stream =>
    val mode = StreamModeDetails.builder.streamMode(StreamMode.ON_DEMAND).build
    service.call(_.updateStreamMode(r => r.streamARN(stream.arn()).streamModeDetails(mode)))
    awaitActive(stream)
    body(stream)
    ()
  }

  /** All hash keys, in ranges that are equal but for rounding. */
  private def uniform(shards: Seq[Shard]): Unit = {
    startingHash(shards.head).signum shouldBe 0
    endingHash(shards.last) shouldBe MaxHashKey
    shards.zip(shards.tail).foreach { case (left, right) =>
      startingHash(right) shouldBe endingHash(left).add(BigInteger.ONE)
    }
    val widths = shards.map(s => endingHash(s).subtract(startingHash(s)))
    widths.max.subtract(widths.min) should be <= BigInteger.valueOf(100)
    ()
  }

  protected def reshardScenarios(): Unit = {
    describe("SplitShard") {
      promise("sets the stream UPDATING, then ACTIVE") {
        whileItLasts {
          withStream(1) { stream =>
            split(stream, stream.onlyShard(), BigInteger.TWO.pow(127))
            stream.status() shouldBe StreamStatus.UPDATING
            awaitActive(stream)
          }
        }
      }

      promise("closes the shard and opens two that divide its range at the given hash key") {
        withStream(1) { stream =>
          val at = BigInteger.TWO.pow(100)
          split(stream, stream.onlyShard(), at)
          eventually(stream.openShards() should have size 2)
          val Seq(left, right) = stream.openShards(): @unchecked
          (startingHash(left).signum, endingHash(left)) shouldBe ((0, at.subtract(BigInteger.ONE)))
          (startingHash(right), endingHash(right)) shouldBe ((at, MaxHashKey))
          Seq(left, right).foreach { child =>
            child.parentShardId shouldBe "shardId-000000000000"
            child.adjacentParentShardId shouldBe null
          }
          Seq(left.shardId, right.shardId).sorted shouldBe Seq("shardId-000000000001", "shardId-000000000002")
          stream.summary().openShardCount.intValue shouldBe 2
        }
      }

      promise(
        "ends the parent at or after its last record, and starts the children after its end",
        Differences.EndsAtLongMax.instead(withSplit { (_, parent, _, _) =>
          parent.sequenceNumberRange.endingSequenceNumber shouldBe Long.MaxValue.toString
        })
      ) {
        withSplit { (_, parent, children, numbers) =>
          val end = new BigInteger(parent.sequenceNumberRange.endingSequenceNumber)
          end should be >= new BigInteger(numbers.last)
          children.foreach(c => new BigInteger(c.sequenceNumberRange.startingSequenceNumber) should be > end)
        }
      }

      promise("refuses a hash key outside the shard") {
        withStream(2) { stream =>
          val Seq(left, right) = stream.openShards(): @unchecked
          refusedArgument(split(stream, left, middleHash(right)))
        }
      }

      promise(
        "refuses the shard's starting hash key, which would leave an empty child",
        Differences.SplitsOffNothing.instead(withStream(1) { stream =>
          split(stream, stream.onlyShard(), BigInteger.ZERO)
          eventually(stream.openShards().map(endingHash).map(_.signum) should contain(-1))
        })
      ) {
        withStream(1)(stream => refusedArgument(split(stream, stream.onlyShard(), BigInteger.ZERO)))
      }

      promise("throws ResourceNotFoundException for an unknown shard") {
        withStream(1) { stream =>
          a[ResourceNotFoundException] should be thrownBy
            split(stream, stream.onlyShard().toBuilder.shardId("shardId-000000000009").build(), BigInteger.TWO.pow(127))
        }
      }

      promise("refuses a closed shard") {
        withSplit { (stream, parent, _, _) =>
          refusal(split(stream, parent, BigInteger.TWO.pow(100))) should
            (be("InvalidArgumentException") or be("ResourceInUseException"))
        }
      }

      promise("refuses a stream that is UPDATING") {
        whileItLasts {
          withStream(2) { stream =>
            val Seq(left, right) = stream.openShards(): @unchecked
            split(stream, left, middleHash(left))
            a[ResourceInUseException] should be thrownBy split(stream, right, middleHash(right))
          }
        }
      }
    }

    describe("MergeShards") {
      promise("closes two shards and opens one with both as parents and their joint range") {
        withMerged { (stream, before, child) =>
          child.parentShardId shouldBe before.head.shardId
          child.adjacentParentShardId shouldBe before.last.shardId
          (startingHash(child).signum, endingHash(child)) shouldBe ((0, MaxHashKey))
          stream.shards().filterNot(isOpen).map(_.shardId).sorted shouldBe before.map(_.shardId).sorted
        }
      }

      promise("reports the child at the end of either parent") {
        withMerged { (stream, before, child) =>
          before.foreach { parent =>
            val answers = stream.drain(stream.trimHorizon(parent.shardId))
            answers.flatMap(texts) shouldBe Seq(parent.shardId)
            answers.last.nextShardIterator shouldBe null
            val Seq(reported) = answers.last.childShards.asScala.toSeq: @unchecked
            reported.shardId shouldBe child.shardId
            reported.parentShards.asScala.sorted shouldBe before.map(_.shardId).sorted
          }
        }
      }

      promise("refuses shards that are not adjacent") {
        withStream(3) { stream =>
          val shards = stream.openShards()
          refusedArgument(merge(stream, shards.head, shards.last))
        }
      }

      promise("throws ResourceNotFoundException for an unknown shard") {
        withStream(1) { stream =>
          val shard = stream.onlyShard()
          a[ResourceNotFoundException] should be thrownBy
            merge(stream, shard, shard.toBuilder.shardId("shardId-000000000009").build())
        }
      }
    }

    describe("A closed shard") {
      promise("returns its records, then a null iterator and its children") {
        withSplit { (stream, parent, children, _) =>
          val answers = stream.drain(stream.trimHorizon(parent.shardId))
          answers.flatMap(texts) shouldBe Seq("1", "2", "3")
          answers.init.foreach(_.childShards shouldBe empty)
          answers.last.nextShardIterator shouldBe null
          val reported = answers.last.childShards.asScala.toSeq.sortBy(_.shardId)
          reported.map(_.shardId) shouldBe children.map(_.shardId).sorted
          reported.foreach(_.parentShards.asScala shouldBe Seq(parent.shardId))
          reported.map(_.hashKeyRange).toSet shouldBe children.map(_.hashKeyRange).toSet
        }
      }

      promise("ends at once for a reader that has read its last record") {
        withSplit { (stream, parent, _, numbers) =>
          val answers = stream.drain(stream.after(parent.shardId, numbers.last))
          answers.flatMap(_.records.asScala) shouldBe empty
          answers.last.nextShardIterator shouldBe null
        }
      }

      promise("ends for a reader that had caught up before the split") {
        withStream(1) { stream =>
          val last     = stream.put("1").sequenceNumber
          val shard    = stream.onlyShard().shardId
          val caughtUp = stream.drain(stream.trimHorizon(shard)).last
          splitInTwo(stream)
          val answers = stream.drain(caughtUp.nextShardIterator, Some(last))
          answers.flatMap(_.records.asScala) shouldBe empty
          answers.last.nextShardIterator shouldBe null
          answers.last.childShards should have size 2
        }
      }

      promise("ends at once for a reader at LATEST") {
        withSplit { (stream, parent, _, _) =>
          val answers = stream.drain(stream.latest(parent.shardId))
          answers.flatMap(_.records.asScala) shouldBe empty
          answers.last.nextShardIterator shouldBe null
        }
      }

      promise("accepts no more records, which go to its children") {
        withSplit { (stream, _, children, _) =>
          children.foreach(child => stream.texts(stream.trimHorizon(child.shardId)) shouldBe Seq("4"))
          Seq("a", "b", "c", "d").foreach { key =>
            val child = children.find(covers(_, hashOf(key))).get
            stream.put("5", key).shardId shouldBe child.shardId
          }
        }
      }

      promise("returned no children while it was open") {
        withStream(1) { stream =>
          stream.put("1")
          stream.drain(stream.trimHorizon(stream.onlyShard().shardId)).foreach(_.childShards shouldBe empty)
        }
      }
    }

    describe("UpdateShardCount") {
      promise("returns the current and the target count") {
        withStream(2) { stream =>
          val answer = update(stream, 4)
          answer.streamName shouldBe stream.name
          (answer.currentShardCount.intValue, answer.targetShardCount.intValue) shouldBe ((2, 4))
        }
      }

      promise("doubles the shards to equal ranges, each with a closed parent") {
        withStream(2) { stream =>
          update(stream, 4)
          eventually(stream.openShards() should have size 4)
          uniform(stream.openShards())
          val closed = stream.shards().filterNot(isOpen).map(_.shardId).toSet
          stream.openShards().foreach(shard => closed should contain(shard.parentShardId))
        }
      }

      promise("halves the shards to equal ranges, each with two parents") {
        withStream(4) { stream =>
          update(stream, 2)
          eventually(stream.openShards() should have size 2)
          uniform(stream.openShards())
          stream.openShards().foreach { shard =>
            shard.parentShardId should not be null
            shard.adjacentParentShardId should not be null
          }
        }
      }

      promise(
        "from two to three shards makes equal ranges through short-lived shards",
        Differences.UnequalRanges.instead(withThreeOfTwo { shards =>
          val widths = shards.map(s => endingHash(s).subtract(startingHash(s)))
          widths.max should be > widths.min.multiply(BigInteger.TWO).subtract(BigInteger.valueOf(100))
        })
      ) {
        withThreeOfTwo(uniform)
      }

      promise("refuses more than double and less than half of the shards") {
        withStream(2) { stream =>
          refusal(update(stream, 5)) should (be("InvalidArgumentException") or be("LimitExceededException"))
        }
        withStream(4) { stream =>
          refusal(update(stream, 1)) should (be("InvalidArgumentException") or be("LimitExceededException"))
        }
      }

      promise(
        "refuses a stream in on-demand mode",
        Differences.ReshardsOnDemand.instead(onDemand { stream =>
          update(stream, 5).targetShardCount.intValue shouldBe 5
        })
      ) {
        onDemand(stream => refusal(update(stream, 5)) shouldBe "ValidationException")
      }
    }

    describe("A chain of splits and merges") {
      promise("keeps the order of each key's records from parents to children") {
        withStream(1) { stream =>
          val keys                = (1 to 8).map(n => s"key-$n")
          def putAll(n: Int): Any = keys.foreach(key => stream.put(s"$key:$n", key))
          putAll(1)
          splitInTwo(stream)
          putAll(2)
          val Seq(left, right) = stream.openShards(): @unchecked
          merge(stream, left, right)
          eventually(stream.openShards() should have size 1)
          awaitActive(stream)
          putAll(3)
          def read(shard: String): Seq[String] = stream.texts(stream.trimHorizon(shard))
          val generations                      = stream.shards().sortBy(_.shardId).map(_.shardId)
          val all                              = generations.flatMap(read)
          keys.foreach { key =>
            all.filter(_.startsWith(s"$key:")) shouldBe (1 to 3).map(n => s"$key:$n")
          }
        }
      }
    }
  }
}
