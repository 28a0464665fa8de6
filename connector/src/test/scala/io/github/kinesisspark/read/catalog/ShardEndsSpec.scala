package io.github.kinesisspark.read.catalog

import java.time.Instant
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.{
  GetRecordsRequest,
  GetRecordsResponse,
  GetShardIteratorRequest,
  GetShardIteratorResponse,
  Record
}

import io.github.kinesisspark.Generators.{number, shard}
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.{BlockingCalls, CallObserver}
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.position.ShardPosition._
import io.github.kinesisspark.read.reader.StubKinesis

class ShardEndsSpec extends AnyFunSpec with Matchers {

  /** Where a shard ends at a time, if it has records that arrived at these. */
  private def tipAt(now: Long, arrivals: Long*) = endsOf(arrivals).tip(shard(0), TrimHorizon, now)

  /** Records come once nothing was found at a time. */
  private def endsOf(arrivals: Seq[Long]) = {
    val client = new StubKinesis {
      override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
        CompletableFuture.completedFuture(
          GetShardIteratorResponse.builder.shardIterator(request.shardIteratorTypeAsString).build
        )

      override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
        val there   = if (request.shardIterator == "AT_TIMESTAMP") Nil else arrivals
        val records = there.zipWithIndex.map { case (at, i) => recordAt(at, i + 1L) }
        CompletableFuture.completedFuture(
          GetRecordsResponse.builder
            .records(records.asJava)
            .nextShardIterator(request.shardIterator)
            .millisBehindLatest(0L)
            .build
        )
      }
    }
    endsBy(client)
  }

  private def endsBy(client: StubKinesis) = {
    val retry = BlockingCalls(CallRetries.default.within(10.seconds), () => true, CallObserver.warning)
    new ShardEnds(_ => new ShardProbes(client, retry))
  }

  private def recordAt(arrival: Long, n: Long) = Record.builder
    .sequenceNumber(number(n).text)
    .partitionKey("key")
    .data(SdkBytes.fromUtf8String("data"))
    .approximateArrivalTimestamp(Instant.ofEpochMilli(arrival))
    .build

  describe("the end of a shard at a time") {
    it("is before the records that come while it is looked for, which belong to a read that begins at the time") {
      endsOf(Seq(1000, 2000, 5200)).at(shard(0), TrimHorizon, time = 3000, now = 5000).end shouldBe
        AfterSequenceNumber(number(2))
    }
  }

  describe("the end of a shard that was idle for hours") {

    /** Each answer from the old position scans a minute. */
    class Idle(hours: Int, arrived: Seq[Long] = Nil) extends StubKinesis {
      var calls = 0

      override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
        CompletableFuture.completedFuture(
          GetShardIteratorResponse.builder
            .shardIterator(if (request.timestamp == null) (hours * 60).toString else "0")
            .build
        )

      override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
        calls += 1
        val left = request.shardIterator.toInt
        CompletableFuture.completedFuture(
          GetRecordsResponse.builder
            .records((if (left == 0) arrived else Nil).map(recordAt(_, 10)).asJava)
            .nextShardIterator((left - 1).max(0).toString)
            .millisBehindLatest(left * 60000L)
            .build
        )
      }

      def tip(from: ShardPosition): ShardEnds.Extent = endsBy(this).tip(shard(0), from, now = 5000, readTo = Some(4000))
    }

    it("is found by two calls where all is read up to a time near now") {
      val client = new Idle(hours = 24)
      client.tip(AfterSequenceNumber(number(5))).end shouldBe AfterSequenceNumber(number(5))
      client.calls shouldBe 2
    }

    it("is after a record that came since") {
      val client = new Idle(hours = 24, arrived = Seq(4500))
      val end    = client.tip(AfterSequenceNumber(number(5)))
      (end.end, end.first) shouldBe ((AfterSequenceNumber(number(10)), Some(number(10))))
      client.calls shouldBe 1
    }

    it("comes with the first record from the time on at which reading begins, not with one that came since") {
      val client = new Idle(hours = 0, arrived = Seq(4500))
      client.tip(AtTimestamp(1000)).first shouldBe Some(number(10))
      client.calls shouldBe 2
    }
  }

  describe("the end of a shard where records arrive while it is looked for") {
    it("is after the last record that arrived before, so that a read shows whether that one is still there") {
      val end = tipAt(5000, 1000, 2000, 9000)
      (end.end, end.newest) shouldBe ((AfterSequenceNumber(number(2)), Some(2000L)))
    }

    it("comes with the first record that was seen") {
      tipAt(5000, 1000, 2000, 9000).first shouldBe Some(number(1))
      tipAt(5000).first shouldBe None
    }

    it("is before the first record where none arrived before") {
      tipAt(5000, 9000, 9500).end shouldBe AtSequenceNumber(number(1))
    }
  }
}
