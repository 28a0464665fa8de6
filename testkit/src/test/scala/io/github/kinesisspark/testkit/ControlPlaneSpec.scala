package io.github.kinesisspark.testkit

import org.scalatest.concurrent.Eventually
import org.scalatest.concurrent.PatienceConfiguration.Timeout
import org.scalatest.time.{Seconds, Span}
import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Tests reshards that take time, listings that lag behind them, and what on-demand streams refuse. */
class ControlPlaneSpec extends SubscriptionSuite {
  import Clients._

  override protected def config: KinesisServerConfig = KinesisServerConfig(
    updateDelay = 30.seconds,
    control = ControlPlane(reshardsAtEnd = true, listingLag = 10.seconds)
  )

  private def split(stream: String): Unit = {
    await(kinesis.splitShard { (b: SplitShardRequest.Builder) =>
      b.streamName(stream).shardToSplit(shardId(0)).newStartingHashKey("1000"); ()
    })
    ()
  }

  private def statusOf(stream: String): StreamStatus = summary(stream).streamStatus

  /** Ids of the shards that ListShards shows, and whether they are open. */
  private def listed(stream: String): Vector[(String, Boolean)] =
    kinesis.shards(stream).map(s => s.shardId -> (s.sequenceNumberRange.endingSequenceNumber == null))

  private def described(stream: String): Vector[(String, Boolean)] =
    await(
      kinesis.describeStream { (b: DescribeStreamRequest.Builder) => b.streamName(stream); () }
    ).streamDescription.shards.asScala
      .map(s => s.shardId -> (s.sequenceNumberRange.endingSequenceNumber == null))
      .toVector

  private val old   = Vector(shardId(0) -> true)
  private val fresh = Vector(shardId(0) -> false, shardId(1) -> true, shardId(2) -> true)

  describe("A reshard") {
    it("leaves the parent open while the stream is UPDATING, and closes it at the end") {
      val stream = newStream(1)
      split(stream)
      statusOf(stream) shouldBe StreamStatus.UPDATING
      kinesis.put(stream, "k", "during").shardId shouldBe shardId(0)
      a[ResourceInUseException] should be thrownBy split(stream)
      clock.advance(Duration.ofMillis(29999))
      kinesis.get(kinesis.iterator(stream, shardId(0))).nextShardIterator should not be null
      clock.advance(Duration.ofMillis(1))
      statusOf(stream) shouldBe StreamStatus.ACTIVE
      val last = kinesis.get(kinesis.iterator(stream, shardId(0)))
      last.records should have size 1
      last.childShards.asScala.map(_.shardId) shouldBe Vector(1, 2).map(shardId)
      Vector(1, 2).map(shardId) should contain(kinesis.put(stream, "k", "after").shardId)
    }

    it("is refused at once if it can't be made") {
      val stream = newStream(1)
      an[InvalidArgumentException] should be thrownBy await(kinesis.splitShard { (b: SplitShardRequest.Builder) =>
        b.streamName(stream).shardToSplit(shardId(0)).newStartingHashKey("0"); ()
      })
      statusOf(stream) shouldBe StreamStatus.ACTIVE
    }

    it("ends an idle subscription to the parent when it takes effect, though nobody looks at the stream") {
      val stream     = newStream(1)
      val subscriber = subscribe(consumer(stream)).opened()
      split(stream)
      clock.advance(Duration.ofSeconds(30))
      val end = Iterator.continually(subscriber.event()).find(_.hasChildShards).get
      end.childShards.asScala.map(_.shardId) shouldBe Vector(1, 2).map(shardId)
      subscriber.completes()
    }
  }

  describe("A listing after a reshard") {
    it("shows the parent open and no children until its lag is over, while readers have met the children") {
      val stream = newStream(1)
      split(stream)
      clock.advance(Duration.ofSeconds(30))
      kinesis.get(kinesis.iterator(stream, shardId(0))).childShards should have size 2
      listed(stream) shouldBe old
      described(stream) shouldBe old
      summary(stream).openShardCount shouldBe 1
      kinesis.iterator(stream, shardId(1)) should not be empty
      clock.advance(Duration.ofSeconds(10))
      listed(stream) shouldBe fresh
      described(stream) shouldBe fresh
      summary(stream).openShardCount shouldBe 2
    }

    it("shows the shards of its first page's time on all its pages") {
      val stream = newStream(2)
      split(stream)
      clock.advance(Duration.ofSeconds(30))
      summary(stream)
      val first = await(kinesis.listShards { (b: ListShardsRequest.Builder) => b.streamName(stream).maxResults(1); () })
      clock.advance(Duration.ofSeconds(20))
      listed(stream) should have size 4
      val second = await(kinesis.listShards { (b: ListShardsRequest.Builder) => b.nextToken(first.nextToken); () })
      second.shards.asScala.map(_.shardId) shouldBe Vector(shardId(1))
    }
  }

  describe("A listing after a shard went past retention") {
    it("shows the shard until its lag is over, though GetShardIterator does not find it") {
      val stream = newStream(1)
      split(stream)
      clock.advance(Duration.ofSeconds(30))
      summary(stream)
      clock.advance(Duration.ofHours(24).plusMillis(1))
      a[ResourceNotFoundException] should be thrownBy kinesis.iterator(stream, shardId(0))
      listed(stream) shouldBe fresh
      described(stream) shouldBe fresh
      clock.advance(Duration.ofSeconds(10))
      listed(stream) shouldBe fresh.tail
      described(stream) shouldBe fresh.tail
    }
  }

  describe("An on-demand stream") {
    def create(name: String, shards: Option[Int] = None): Unit = {
      await(kinesis.createStream { (b: CreateStreamRequest.Builder) =>
        b.streamName(name).streamModeDetails(mode(StreamMode.ON_DEMAND))
        shards.foreach(b.shardCount(_))
      })
      ()
    }
    def mode(of: StreamMode)                         = StreamModeDetails.builder.streamMode(of).build()
    def switch(stream: String, to: StreamMode): Unit = {
      await(kinesis.updateStreamMode { (b: UpdateStreamModeRequest.Builder) =>
        b.streamARN(arnOf(stream)).streamModeDetails(mode(to)); ()
      })
      clock.advance(Duration.ofSeconds(30))
    }
    def update(stream: String): Unit = {
      await(kinesis.updateShardCount { (b: UpdateShardCountRequest.Builder) =>
        b.streamName(stream).targetShardCount(8).scalingType(ScalingType.UNIFORM_SCALING); ()
      })
      ()
    }

    it("begins with four shards, and is refused with a number of shards") {
      create("on-demand")
      summary("on-demand").openShardCount shouldBe 4
      summary("on-demand").streamModeDetails.streamMode shouldBe StreamMode.ON_DEMAND
      codeOf(create("sized", Some(2))) shouldBe "ValidationException"
    }

    it("refuses SplitShard, MergeShards and UpdateShardCount") {
      create("fixed")
      codeOf(update("fixed")) shouldBe "ValidationException"
      codeOf(split("fixed")) shouldBe "ValidationException"
      codeOf(await(kinesis.mergeShards { (b: MergeShardsRequest.Builder) =>
        b.streamName("fixed").shardToMerge(shardId(0)).adjacentShardToMerge(shardId(1)); ()
      })) shouldBe "ValidationException"
    }

    it("doubles its shards when the service scales it up") {
      create("growing")
      server.streams.scaleUp("growing")
      clock.advance(Duration.ofSeconds(30))
      // The server's timetable may be carrying the reshard out at this moment.
      Eventually.eventually(Timeout(Span(30, Seconds))) {
        server.streams.shards("growing").count(_.isOpen) shouldBe 8
      }
      an[IllegalArgumentException] should be thrownBy server.streams.scaleUp(newStream(1))
    }

    it("changes its mode twice in 24 hours, and keeps its shards") {
      create("changing")
      switch("changing", StreamMode.PROVISIONED)
      update("changing")
      clock.advance(Duration.ofSeconds(40))
      switch("changing", StreamMode.ON_DEMAND)
      summary("changing").openShardCount shouldBe 8
      a[LimitExceededException] should be thrownBy switch("changing", StreamMode.PROVISIONED)
      clock.advance(Duration.ofHours(24))
      switch("changing", StreamMode.PROVISIONED)
    }
  }
}
