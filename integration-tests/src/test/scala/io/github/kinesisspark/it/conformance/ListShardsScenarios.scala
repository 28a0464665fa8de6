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

  /** An instant that lies so far from what came before and what comes after that any server can distinguish them, those
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
    promise("returns all shards, closed ones included") {
      withSplit(stream => stream.shards().map(_.shardId).sorted shouldBe parent +: children)
    }

    promise("continues by token without the stream's name") {
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

    promise("refuses a token together with the stream's name") {
      withStream(3) { stream =>
        val token = service.call(_.listShards(r => r.streamName(stream.name).maxResults(1))).nextToken
        refusedArgument(service.callOnce(_.listShards(r => r.streamName(stream.name).nextToken(token))))
      }
    }

    promise("refuses an unknown token") {
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

    promise("with AT_LATEST returns the open shards") {
      withSplit(stream => listed(stream, _.`type`(ShardFilterType.AT_LATEST)) shouldBe children)
    }

    promise(
      "with AT_TRIM_HORIZON returns the shards open at the oldest record",
      Differences.AtTrimHorizonGivesAll.instead(
        withSplit(stream => listed(stream, _.`type`(ShardFilterType.AT_TRIM_HORIZON)) shouldBe parent +: children)
      )
    ) {
      withSplit(stream => listed(stream, _.`type`(ShardFilterType.AT_TRIM_HORIZON)) shouldBe Seq(parent))
    }

    promise("with FROM_TRIM_HORIZON returns all shards") {
      withSplit { stream =>
        listed(stream, _.`type`(ShardFilterType.FROM_TRIM_HORIZON)) shouldBe parent +: children
      }
    }

    promise("with AFTER_SHARD_ID returns the shards with higher IDs") {
      withSplit { stream =>
        listed(stream, _.`type`(ShardFilterType.AFTER_SHARD_ID).shardId(parent)) shouldBe children
        listed(stream, _.`type`(ShardFilterType.AFTER_SHARD_ID).shardId(children.head)) shouldBe children.tail
      }
    }

    promise("with AT_TIMESTAMP returns the shards open at that time") {
      withSplitStream { (stream, before, after) =>
        listed(stream, _.`type`(ShardFilterType.AT_TIMESTAMP).timestamp(before)) shouldBe Seq(parent)
        listed(stream, _.`type`(ShardFilterType.AT_TIMESTAMP).timestamp(after)) shouldBe children
      }
    }

    promise("with FROM_TIMESTAMP returns the shards open at or after that time") {
      withSplitStream { (stream, before, after) =>
        listed(stream, _.`type`(ShardFilterType.FROM_TIMESTAMP).timestamp(before)) shouldBe parent +: children
        listed(stream, _.`type`(ShardFilterType.FROM_TIMESTAMP).timestamp(after)) shouldBe children
      }
    }

    promise("refuses a filter without its shard ID or timestamp") {
      withStream(1) { stream =>
        refusedArgument(listed(stream, _.`type`(ShardFilterType.AFTER_SHARD_ID)))
        refusedArgument(listed(stream, _.`type`(ShardFilterType.AT_TIMESTAMP)))
        refusedArgument(listed(stream, _.`type`(ShardFilterType.FROM_TIMESTAMP)))
      }
    }

    promise("returns only shards of the given stream") {
      withStream(1)(one =>
        withStream(2) { two =>
          one.shards() should have size 1
          two.shards() should have size 2
        }
      )
    }
  }
}
