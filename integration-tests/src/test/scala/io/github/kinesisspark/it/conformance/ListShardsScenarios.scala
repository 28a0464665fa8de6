package io.github.kinesisspark.it.conformance

import java.time.Instant

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, TestStream}
import io.github.kinesisspark.it.TestStream._

/** ListShards: paging and each filter, on a stream whose only shard was split into two. */
trait ListShardsScenarios { this: Conformance =>
  private val parent   = "shardId-000000000000"
  private val children = Seq("shardId-000000000001", "shardId-000000000002")

  private def listed(stream: TestStream, filter: ShardFilter.Builder => Any): Seq[String] =
    service
      .callOnce(_.listShards(r => r.streamName(stream.name).shardFilter { f => filter(f); () }))
      .shards
      .asScala
      .map(_.shardId)
      .toSeq
      .sorted

  private def withSplit(body: TestStream => Any): Unit = withStream(1) { stream =>
    splitInTwo(stream)
    body(stream)
    ()
  }

  /** The instants lie before and after the split, apart from it and from the stream's creation by the server's clock. */
  private def withSplitStream(body: (TestStream, Instant, Instant) => Any): Unit = withStream(1) { stream =>
    val before = apart()
    splitInTwo(stream)
    body(stream, before, apart())
    ()
  }

  /** An instant that lies so far from what came before and what comes after that any server can tell them apart, those
    * that count whole seconds too.
    */
  private def apart(): Instant = {
    val half = 1050L
    val from = Instant.now
    eventually(Instant.now.isAfter(from.plusMillis(2 * half)) shouldBe true)
    from.plusMillis(half)
  }

  protected def splitInTwo(stream: TestStream): Unit = {
    val shard = stream.onlyShard()
    stream.service.call(
      _.splitShard(r =>
        r.streamName(stream.name).shardToSplit(shard.shardId).newStartingHashKey(middleHash(shard).toString)
      )
    )
    eventually(stream.openShards() should have size 2)
    awaitActive(stream)
    ()
  }

  protected def listShardsScenarios(): Unit = describe("ListShards") {
    promise("gives every shard, closed ones too") {
      withSplit(stream => stream.shards().map(_.shardId).sorted shouldBe parent +: children)
    }

    promise("goes on where its token points, the stream's name left out") {
      withStream(5) { stream =>
        def pages(answer: ListShardsResponse): Seq[Seq[String]] = {
          val page = answer.shards.asScala.map(_.shardId).toSeq
          if (answer.nextToken == null) Seq(page)
          else page +: pages(service.call(_.listShards(r => r.nextToken(answer.nextToken).maxResults(2))))
        }
        val found = pages(service.call(_.listShards(r => r.streamName(stream.name).maxResults(2))))
        found.map(_.size) shouldBe Seq(2, 2, 1)
        found.flatten shouldBe (0 until 5).map(n => f"shardId-$n%012d")
      }
    }

    promise("refuses a token beside the stream's name") {
      withStream(3) { stream =>
        val token = service.call(_.listShards(r => r.streamName(stream.name).maxResults(1))).nextToken
        refusedArgument(service.callOnce(_.listShards(r => r.streamName(stream.name).nextToken(token))))
      }
    }

    promise("refuses a token that it never gave") {
      refusal(service.callOnce(_.listShards(r => r.nextToken("never-given")))) should
        (be("InvalidArgumentException") or be("ExpiredNextTokenException") or be("ValidationException"))
    }

    promise("starts after ExclusiveStartShardId") {
      withStream(3) { stream =>
        service
          .call(_.listShards(r => r.streamName(stream.name).exclusiveStartShardId("shardId-000000000000")))
          .shards
          .asScala
          .map(_.shardId) shouldBe Seq("shardId-000000000001", "shardId-000000000002")
      }
    }

    promise("AT_LATEST gives the open shards") {
      withSplit(stream => listed(stream, _.`type`(ShardFilterType.AT_LATEST)) shouldBe children)
    }

    promise(
      "AT_TRIM_HORIZON gives the shards that were open at the oldest record kept",
      Differences.AtTrimHorizonGivesAll.instead(
        withSplit(stream => listed(stream, _.`type`(ShardFilterType.AT_TRIM_HORIZON)) shouldBe parent +: children)
      )
    ) {
      withSplit(stream => listed(stream, _.`type`(ShardFilterType.AT_TRIM_HORIZON)) shouldBe Seq(parent))
    }

    promise("FROM_TRIM_HORIZON gives every shard") {
      withSplit { stream =>
        listed(stream, _.`type`(ShardFilterType.FROM_TRIM_HORIZON)) shouldBe parent +: children
      }
    }

    promise("AFTER_SHARD_ID gives the shards with greater ids") {
      withSplit { stream =>
        listed(stream, _.`type`(ShardFilterType.AFTER_SHARD_ID).shardId(parent)) shouldBe children
        listed(stream, _.`type`(ShardFilterType.AFTER_SHARD_ID).shardId(children.head)) shouldBe children.tail
      }
    }

    promise("AT_TIMESTAMP gives the shards that were open at that time") {
      withSplitStream { (stream, before, after) =>
        listed(stream, _.`type`(ShardFilterType.AT_TIMESTAMP).timestamp(before)) shouldBe Seq(parent)
        listed(stream, _.`type`(ShardFilterType.AT_TIMESTAMP).timestamp(after)) shouldBe children
      }
    }

    promise("FROM_TIMESTAMP gives the shards that were open at that time or later") {
      withSplitStream { (stream, before, after) =>
        listed(stream, _.`type`(ShardFilterType.FROM_TIMESTAMP).timestamp(before)) shouldBe parent +: children
        listed(stream, _.`type`(ShardFilterType.FROM_TIMESTAMP).timestamp(after)) shouldBe children
      }
    }

    promise("refuses a filter without what it needs") {
      withStream(1) { stream =>
        refusedArgument(listed(stream, _.`type`(ShardFilterType.AFTER_SHARD_ID)))
        refusedArgument(listed(stream, _.`type`(ShardFilterType.AT_TIMESTAMP)))
        refusedArgument(listed(stream, _.`type`(ShardFilterType.FROM_TIMESTAMP)))
      }
    }

    promise("gives shards of their own to streams of their own") {
      withStream(1)(one =>
        withStream(2) { two =>
          one.shards() should have size 1
          two.shards() should have size 2
        }
      )
    }
  }
}
