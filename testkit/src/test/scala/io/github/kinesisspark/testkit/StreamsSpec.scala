package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Tests the calls that create, describe, list, change and delete streams. */
class StreamsSpec extends ServerSpec {
  import Clients._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(shardLimit = 50, createDelay = 5.seconds, updateDelay = 3.seconds, deleteDelay = 2.seconds)

  private def activeStream(shards: Int): String = {
    val name = newStream(shards)
    clock.advance(Duration.ofSeconds(5))
    name
  }

  private def retain(stream: String, hours: Int): Unit = {
    await(kinesis.increaseStreamRetentionPeriod { (b: IncreaseStreamRetentionPeriodRequest.Builder) =>
      b.streamName(stream).retentionPeriodHours(hours); ()
    })
    ()
  }

  it("a new stream is CREATING for the configured time, and refuses reads and writes until ACTIVE") {
    kinesis.create("new", 2)
    summary("new").streamStatus shouldBe StreamStatus.CREATING
    a[ResourceNotFoundException] should be thrownBy kinesis.put("new", "key", "data")
    a[ResourceInUseException] should be thrownBy kinesis.shards("new")
    clock.advance(Duration.ofSeconds(5))
    val made = summary("new")
    made.streamStatus shouldBe StreamStatus.ACTIVE
    made.streamARN shouldBe "arn:aws:kinesis:us-east-1:000000000000:stream/new"
    made.openShardCount shouldBe 2
    made.retentionPeriodHours shouldBe 24
    made.maxRecordSizeInKiB shouldBe 1024
    made.streamModeDetails.streamMode shouldBe StreamMode.PROVISIONED
    made.streamCreationTimestamp.toEpochMilli shouldBe clock.millis - 5000
  }

  it("a stream with a taken or malformed name, no shards, or more than the account allows is refused") {
    val stream = activeStream(1)
    a[ResourceInUseException] should be thrownBy kinesis.create(stream, 1)
    codeOf(kinesis.create("no spaces", 1)) shouldBe "ValidationException"
    codeOf(kinesis.create("none", 0)) shouldBe "ValidationException"
    val over = the[LimitExceededException] thrownBy kinesis.create("wide", 51)
    over.awsErrorDetails.errorMessage should include("Limit: 50")
  }

  it("a direct call with a malformed name, without shards or to a closed shard is refused") {
    def errorOf(call: => Any): String = (the[model.ServiceException] thrownBy call).error.code
    errorOf(server.streams.createStream("no spaces", 1)) shouldBe "ValidationException"
    errorOf(server.streams.createStream("none", 0)) shouldBe "ValidationException"
    val stream = activeStream(1)
    server.streams.split(stream, shardId(0))
    errorOf(server.streams.putInto(stream, shardId(0), "k", Array.empty[Byte])) shouldBe "InvalidArgumentException"
    errorOf(server.streams.putInto(stream, shardId(9), "k", Array.empty[Byte])) shouldBe "ResourceNotFoundException"
    server.streams.recordCount(stream) shouldBe 0
    server.streams.putInto(stream, shardId(2), "k", Array.empty[Byte]).shardId shouldBe shardId(2)
  }

  it("a new on-demand stream has four shards") {
    await(kinesis.createStream { (b: CreateStreamRequest.Builder) =>
      b.streamName("on-demand").streamModeDetails(StreamModeDetails.builder.streamMode(StreamMode.ON_DEMAND).build());
      ()
    })
    summary("on-demand").openShardCount shouldBe 4
    summary("on-demand").streamModeDetails.streamMode shouldBe StreamMode.ON_DEMAND
  }

  it("a stream is found by its name or ARN, and not by an ARN of another region") {
    val stream             = activeStream(1)
    val arn                = summary(stream).streamARN
    def byArn(arn: String) =
      await(kinesis.describeStreamSummary { (b: DescribeStreamSummaryRequest.Builder) => b.streamARN(arn); () })
    byArn(arn).streamDescriptionSummary.streamName shouldBe stream
    a[ResourceNotFoundException] should be thrownBy byArn(arn.replace("us-east-1", "us-west-2"))
  }

  it("a missing stream is refused with its name and account") {
    val error = the[ResourceNotFoundException] thrownBy summary("nobody")
    error.awsErrorDetails.errorMessage shouldBe "Stream nobody under account 000000000000 not found."
    error.statusCode shouldBe 400
    error.requestId should not be null
  }

  it("ListStreams returns streams in pages and in order") {
    val own   = Vector.fill(3)(activeStream(1))
    val pages = kinesis.listStreamsPaginator { (b: ListStreamsRequest.Builder) => b.limit(2); () }
    val names = scala.collection.mutable.Buffer.empty[String]
    await(pages.subscribe { page => names ++= page.streamNames.asScala; () })
    names.toVector shouldBe names.toVector.sorted
    names should contain allElementsOf own
  }

  it("DescribeStream returns shards in pages") {
    val stream                      = activeStream(5)
    def page(after: Option[String]) = await(kinesis.describeStream { (b: DescribeStreamRequest.Builder) =>
      b.streamName(stream).limit(3)
      after.foreach(b.exclusiveStartShardId)
    }).streamDescription
    val first = page(None)
    first.shards.asScala.map(_.shardId) shouldBe Vector(0, 1, 2).map(shardId)
    first.hasMoreShards shouldBe true
    val second = page(Some(shardId(2)))
    second.shards.asScala.map(_.shardId) shouldBe Vector(3, 4).map(shardId)
    second.hasMoreShards shouldBe false
  }

  it("a change of retention is checked for its bounds, and sets the stream UPDATING for a time") {
    val stream = activeStream(1)
    retain(stream, 48)
    summary(stream).streamStatus shouldBe StreamStatus.UPDATING
    a[ResourceInUseException] should be thrownBy retain(stream, 72)
    clock.advance(Duration.ofSeconds(3))
    summary(stream).retentionPeriodHours shouldBe 48
    an[InvalidArgumentException] should be thrownBy retain(stream, 24)
    an[InvalidArgumentException] should be thrownBy retain(stream, 8761)
    await(kinesis.decreaseStreamRetentionPeriod { (b: DecreaseStreamRetentionPeriodRequest.Builder) =>
      b.streamName(stream).retentionPeriodHours(24); ()
    })
    summary(stream).retentionPeriodHours shouldBe 24
  }

  it("a longer retention does not bring back expired records and shards") {
    val stream = activeStream(1)
    kinesis.put(stream, "k", "expired")
    server.streams.split(stream, shardId(0))
    clock.advance(Duration.ofHours(25))
    kinesis.put(stream, "k", "kept")
    retain(stream, 48)
    clock.advance(Duration.ofSeconds(3))
    kinesis.shards(stream).map(_.shardId) shouldBe Vector(1, 2).map(shardId)
    a[ResourceNotFoundException] should be thrownBy kinesis.iterator(stream, shardId(0))
    clock.advance(Duration.ofHours(47))
    kinesis.shards(stream).flatMap(s => kinesis.readAll(stream, s.shardId)) shouldBe Vector("kept")
    retain(stream, 72)
    clock.advance(Duration.ofHours(2))
    kinesis.shards(stream).flatMap(s => kinesis.readAll(stream, s.shardId)) shouldBe Vector("kept")
  }

  it("UpdateMaxRecordSize lets the stream accept larger records") {
    val stream = activeStream(1)
    val large  = "x" * (2 * 1024 * 1024)
    codeOf(kinesis.put(stream, "k", large)) shouldBe "ValidationException"
    await(kinesis.updateMaxRecordSize { (b: UpdateMaxRecordSizeRequest.Builder) =>
      b.streamARN(summary(stream).streamARN).maxRecordSizeInKiB(10240); ()
    })
    kinesis.put(stream, "k", large)
    kinesis.readAll(stream, shardId(0)) shouldBe Vector(large)
  }

  it("a stream that is deleted again is gone as early as if it were deleted once") {
    val stream         = activeStream(1)
    def delete(): Unit =
      await(kinesis.deleteStream { (b: DeleteStreamRequest.Builder) => b.streamName(stream); () }): Unit
    delete()
    clock.advance(Duration.ofSeconds(1))
    delete()
    clock.advance(Duration.ofSeconds(1))
    a[ResourceNotFoundException] should be thrownBy summary(stream)
  }

  it("a deleted stream is gone after a while, and a new one of its name refuses its iterators and positions") {
    val stream   = activeStream(1)
    val number   = kinesis.put(stream, "k", "old").sequenceNumber
    val iterator = kinesis.iterator(stream, shardId(0))
    await(kinesis.deleteStream { (b: DeleteStreamRequest.Builder) => b.streamName(stream); () })
    summary(stream).streamStatus shouldBe StreamStatus.DELETING
    clock.advance(Duration.ofSeconds(2))
    a[ResourceNotFoundException] should be thrownBy summary(stream)
    kinesis.create(stream, 1)
    clock.advance(Duration.ofSeconds(5))
    kinesis.readAll(stream, shardId(0)) shouldBe empty
    a[ResourceNotFoundException] should be thrownBy kinesis.get(iterator)
    an[InvalidArgumentException] should be thrownBy
      kinesis.iterator(
        stream,
        shardId(0),
        ShardIteratorType.AFTER_SEQUENCE_NUMBER,
        b => { b.startingSequenceNumber(number); () }
      )
  }
}
