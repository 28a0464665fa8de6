package io.github.kinesisspark.read.task

import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.concurrent.{Await, ExecutionContext, Future}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.{number, shard, stream}
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, TrimHorizon}
import io.github.kinesisspark.position.ShardRange
import io.github.kinesisspark.read.coordinator.{ExecutorRuntime, MemoryNetwork}
import io.github.kinesisspark.read.reader._

class PartitionMemorySpec extends AnyFunSpec with Matchers {
  private val Capacity = 16L << 20
  private val Stuck    = shard(0)
  private val Scanning = shard(1)
  private val Full     = shard(2)

  /** One shard never answers and keeps the memory that it has taken. Another one answers without records, and says that there are some. */
  private object service extends StubKinesis {
    override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
      CompletableFuture.completedFuture(GetShardIteratorResponse.builder.shardIterator(request.shardId).build)

    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
      request.shardIterator match {
        case Stuck.shardId    => new CompletableFuture
        case Scanning.shardId =>
          val empty = GetRecordsResponse.builder.nextShardIterator(Scanning.shardId).millisBehindLatest(1000L)
          CompletableFuture.completedFuture(empty.build)
        case _ => super.getRecords(request)
      }
  }

  describe("a task whose shards wait for memory") {
    it("reads one of them while another one, which was served first, scans a part of its shard without records") {
      val clients = new KinesisClients((_, success) => new KinesisClients.SharedClient(service, success, () => ()))
      val engine  = new ExecutorRuntime(() => "1", clients, new MemoryNetwork().of("1"))
      val access  = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1")
      val config  = ReaderConfig(
        "source",
        Map(stream -> access),
        Capacity,
        PollingOptions.Default,
        failOnDataLoss = true,
        batch = Some(ResolvedPublisher.Polling)
      )
      engine.pools.memory.join(Capacity).account().take(_ => Capacity)(_ => ())
      val ranges = Vector(Stuck, Scanning, Full).map(ShardRange(_, TrimHorizon, AfterSequenceNumber(number(1))))
      val rows   =
        KinesisPartitionReaderFactory(config).readerIn(engine, KinesisInputPartition(ranges, Map.empty, Vector.empty))
      try {
        Await.result(Future(rows.next())(ExecutionContext.global), 20.seconds) shouldBe true
        rows.get().getUTF8String(7).toString shouldBe Full.shardId
      } finally rows.close()
    }
  }
}
