package io.github.kinesisspark.it.conformance

import java.time.{Duration, Instant}

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, TestStream}
import io.github.kinesisspark.it.TestStream._

/** Calls that create, describe, list, change and delete streams. */
trait StreamScenarios { this: Conformance =>

  private def threeStreams(): Seq[TestStream] = {
    val streams = Seq.fill(3)(new TestStream(service, Conformance.freshName()))
    streams.foreach(stream => service.call(_.createStream(r => r.streamName(stream.name).shardCount(1))))
    streams.foreach(awaitActive)
    streams
  }

  protected def streamScenarios(): Unit = {
    describe("CreateStream") {
      promise("creates a stream that is CREATING, then ACTIVE") {
        // Now and then the stream is faster than the question.
        eventually {
          val stream = new TestStream(service, Conformance.freshName())
          service.call(_.createStream(r => r.streamName(stream.name).shardCount(1)))
          val first = stream.status()
          awaitActive(stream)
          delete(stream)
          first shouldBe StreamStatus.CREATING
        }
      }

      promise("refuses a taken name") {
        withStream(1) { stream =>
          a[ResourceInUseException] should be thrownBy
            service.callOnce(_.createStream(r => r.streamName(stream.name).shardCount(1)))
        }
      }

      promise("refuses a name with characters other than letters, digits, hyphen, underscore and dot") {
        refusedArgument(service.callOnce(_.createStream(r => r.streamName("no spaces!").shardCount(1))))
      }

      promise(
        "refuses a stream without shards",
        Differences.NoShardsIsALimit.instead {
          a[LimitExceededException] should be thrownBy
            service.callOnce(_.createStream(r => r.streamName(Conformance.freshName()).shardCount(0)))
        }
      ) {
        refusedArgument(service.callOnce(_.createStream(r => r.streamName(Conformance.freshName()).shardCount(0))))
      }

      promise("creates four shards for an on-demand stream") {
        val stream = new TestStream(service, Conformance.freshName())
        service.call(
          _.createStream(r => r.streamName(stream.name).streamModeDetails(m => m.streamMode(StreamMode.ON_DEMAND)))
        )
        awaitActive(stream)
        stream.summary().streamModeDetails.streamMode shouldBe StreamMode.ON_DEMAND
        stream.openShards() should have size 4
        delete(stream)
      }
    }

    describe("DescribeStreamSummary") {
      promise("returns the properties of the new stream") {
        withStream(3) { stream =>
          val summary = stream.summary()
          summary.streamName shouldBe stream.name
          summary.openShardCount.intValue shouldBe 3
          summary.retentionPeriodHours.intValue shouldBe 24
          summary.streamModeDetails.streamMode shouldBe StreamMode.PROVISIONED
          summary.consumerCount.intValue shouldBe 0
          summary.encryptionType should (be(EncryptionType.NONE) or be(null))
          Duration.between(summary.streamCreationTimestamp, Instant.now).abs should be < Duration.ofMinutes(5)
        }
      }

      promise("returns an ARN with partition, region, account and name") {
        withStream(1) { stream =>
          stream.arn() should fullyMatch regex
            s"arn:aws[a-z-]*:kinesis:${service.region.id}:[0-9]{12}:stream/${stream.name}"
        }
      }
    }

    describe("DescribeStream") {
      promise("lists open shards without parents that cover all hash keys without gap or overlap") {
        withStream(3) { stream =>
          val description = service.call(_.describeStream(r => r.streamName(stream.name))).streamDescription
          val shards      = description.shards.asScala.toSeq
          shards.map(_.shardId) shouldBe Seq("shardId-000000000000", "shardId-000000000001", "shardId-000000000002")
          startingHash(shards.head).signum shouldBe 0
          shards.zip(shards.tail).foreach { case (left, right) =>
            startingHash(right).subtract(endingHash(left)).intValueExact shouldBe 1
          }
          endingHash(shards.last) shouldBe MaxHashKey
          shards.foreach { shard =>
            shard.sequenceNumberRange.startingSequenceNumber should fullyMatch regex "[1-9][0-9]+"
            shard.sequenceNumberRange.endingSequenceNumber shouldBe null
            shard.parentShardId shouldBe null
            shard.adjacentParentShardId shouldBe null
          }
          description.hasMoreShards.booleanValue shouldBe false
        }
      }

      promise("lists shards in pages") {
        withStream(3) { stream =>
          val first = service.call(_.describeStream(r => r.streamName(stream.name).limit(2))).streamDescription
          first.shards should have size 2
          first.hasMoreShards.booleanValue shouldBe true
          val second = service
            .call(
              _.describeStream(r => r.streamName(stream.name).exclusiveStartShardId(first.shards.asScala.last.shardId))
            )
            .streamDescription
          second.shards.asScala.map(_.shardId) shouldBe Seq("shardId-000000000002")
          second.hasMoreShards.booleanValue shouldBe false
        }
      }
    }

    describe("A stream's ARN") {
      promise("can replace its name in every call") {
        withStream(1) { stream =>
          val arn   = stream.arn()
          val shard = stream.onlyShard().shardId
          service.call(_.describeStream(r => r.streamARN(arn))).streamDescription.streamName shouldBe stream.name
          service
            .call(_.describeStreamSummary(r => r.streamARN(arn)))
            .streamDescriptionSummary
            .streamName shouldBe stream.name
          service.call(_.listShards(r => r.streamARN(arn))).shards should have size 1
          val put  = service.call(_.putRecord(r => r.streamARN(arn).partitionKey("key").data(bytes("one"))))
          val puts = service.call(
            _.putRecords(r => r.streamARN(arn).records(entry("two", "key")))
          )
          puts.failedRecordCount.intValue shouldBe 0
          val iterator = service
            .call(
              _.getShardIterator(r =>
                r.streamARN(arn)
                  .shardId(shard)
                  .shardIteratorType(ShardIteratorType.AT_SEQUENCE_NUMBER)
                  .startingSequenceNumber(put.sequenceNumber)
              )
            )
            .shardIterator
          service.call(_.getRecords(r => r.streamARN(arn).shardIterator(iterator))).nextShardIterator should not be null
          stream.texts(iterator) shouldBe Seq("one", "two")
        }
      }
    }

    describe("ListStreams") {
      promise("returns names in order and in pages") {
        val own        = threeStreams()
        val everything = service.call(_.listStreams(r => r.limit(100)))
        val names      = everything.streamNames.asScala.toSeq
        names shouldBe names.sorted
        names should contain allElementsOf own.map(_.name)
        val first = service.call(_.listStreams(r => r.limit(2)))
        first.streamNames should have size 2
        first.hasMoreStreams.booleanValue shouldBe true
        val second =
          service.call(_.listStreams(r => r.limit(2).exclusiveStartStreamName(first.streamNames.asScala.last)))
        second.streamNames.asScala.toSeq shouldBe names.slice(2, 4)
        own.foreach(delete)
      }

      promise(
        "returns a summary of each stream",
        Differences.NoStreamSummaries.instead {
          withStream(1)(_ => service.call(_.listStreams()).streamSummaries shouldBe empty)
        }
      ) {
        withStream(1) { stream =>
          service
            .call(_.listStreams(r => r.limit(100)))
            .streamSummaries
            .asScala
            .map(s => s.streamName -> s.streamStatus) should contain(stream.name -> StreamStatus.ACTIVE)
        }
      }

      promise(
        "continues by token",
        Differences.NoListStreamsToken.instead {
          val own   = threeStreams()
          val first = service.call(_.listStreams(r => r.limit(1)))
          first.hasMoreStreams.booleanValue shouldBe true
          first.nextToken shouldBe null
          own.foreach(delete)
        }
      ) {
        val own    = threeStreams()
        val names  = service.call(_.listStreams(r => r.limit(100))).streamNames.asScala.toSeq
        val first  = service.call(_.listStreams(r => r.limit(1)))
        val second = service.call(_.listStreams(r => r.limit(1).nextToken(first.nextToken)))
        second.streamNames.asScala.toSeq shouldBe names.slice(1, 2)
        own.foreach(delete)
      }
    }

    describe("DeleteStream") {
      promise("sets the stream DELETING for a while, then it is gone") {
        val stream = whileItLasts {
          val stream = new TestStream(service, Conformance.freshName())
          service.call(_.createStream(r => r.streamName(stream.name).shardCount(1)))
          awaitActive(stream)
          service.call(_.deleteStream(r => r.streamName(stream.name)))
          stream.status() shouldBe StreamStatus.DELETING
          stream
        }
        awaitGone(stream)
        service.call(_.listStreams(r => r.limit(100))).streamNames should not contain stream.name
      }
    }

    describe("A missing stream") {
      val missing = "conformance-no-such-stream"
      val shard   = "shardId-000000000000"
      val calls   = Seq[(String, () => Any)](
        "DescribeStream"        -> (() => service.callOnce(_.describeStream(r => r.streamName(missing)))),
        "DescribeStreamSummary" -> (() => service.callOnce(_.describeStreamSummary(r => r.streamName(missing)))),
        "ListShards"            -> (() => service.callOnce(_.listShards(r => r.streamName(missing)))),
        "DeleteStream"          -> (() => service.callOnce(_.deleteStream(r => r.streamName(missing)))),
        "PutRecord"             ->
          (() => service.callOnce(_.putRecord(r => r.streamName(missing).partitionKey("key").data(bytes("x"))))),
        "PutRecords" -> (() => service.callOnce(_.putRecords(r => r.streamName(missing).records(entry("x", "key"))))),
        "GetShardIterator" -> (() =>
          service.callOnce(
            _.getShardIterator(r =>
              r.streamName(missing).shardId(shard).shardIteratorType(ShardIteratorType.TRIM_HORIZON)
            )
          )
        ),
        "SplitShard" -> (() =>
          service.callOnce(_.splitShard(r => r.streamName(missing).shardToSplit(shard).newStartingHashKey("1000")))
        ),
        "MergeShards" -> (() =>
          service.callOnce(
            _.mergeShards(r => r.streamName(missing).shardToMerge(shard).adjacentShardToMerge("shardId-000000000001"))
          )
        ),
        "UpdateShardCount" -> (() =>
          service.callOnce(
            _.updateShardCount(r => r.streamName(missing).targetShardCount(2).scalingType(ScalingType.UNIFORM_SCALING))
          )
        ),
        "IncreaseStreamRetentionPeriod" -> (() =>
          service.callOnce(_.increaseStreamRetentionPeriod(r => r.streamName(missing).retentionPeriodHours(48)))
        )
      )
      calls.foreach { case (name, call) =>
        promise(s"makes $name throw ResourceNotFoundException with the stream's name") {
          val error = intercept[ResourceNotFoundException](call())
          error.awsErrorDetails.errorMessage should include(missing)
        }
      }
    }

    describe("Retention") {
      def increase(stream: TestStream, hours: Int): Any =
        service.callOnce(_.increaseStreamRetentionPeriod(r => r.streamName(stream.name).retentionPeriodHours(hours)))
      def decrease(stream: TestStream, hours: Int): Any =
        service.callOnce(_.decreaseStreamRetentionPeriod(r => r.streamName(stream.name).retentionPeriodHours(hours)))

      promise("can be raised and lowered again") {
        withStream(1) { stream =>
          increase(stream, 48)
          eventually(stream.summary().retentionPeriodHours.intValue shouldBe 48)
          awaitActive(stream)
          decrease(stream, 24)
          eventually(stream.summary().retentionPeriodHours.intValue shouldBe 24)
        }
      }

      promise("stays between 24 hours and 365 days") {
        withStream(1) { stream =>
          refusedArgument(decrease(stream, 23))
          refusedArgument(increase(stream, 8761))
        }
      }

      promise("is refused if an increase would lower it or a decrease would raise it") {
        withStream(1) { stream =>
          increase(stream, 48)
          awaitActive(stream)
          refusedArgument(increase(stream, 36))
          refusedArgument(decrease(stream, 72))
        }
      }
    }
  }
}
