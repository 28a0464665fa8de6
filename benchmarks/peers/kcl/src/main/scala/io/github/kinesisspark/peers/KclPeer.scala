package io.github.kinesisspark.peers

import java.net.URI
import java.util.UUID
import java.util.concurrent.TimeUnit

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient
import software.amazon.kinesis.common._
import software.amazon.kinesis.coordinator.Scheduler
import software.amazon.kinesis.exceptions.ShutdownException
import software.amazon.kinesis.lifecycle.events._
import software.amazon.kinesis.metrics.NullMetricsFactory
import software.amazon.kinesis.processor.{
  RecordProcessorCheckpointer,
  ShardRecordProcessor,
  ShardRecordProcessorFactory,
  SingleStreamTracker
}
import software.amazon.kinesis.retrieval.fanout.FanOutConfig
import software.amazon.kinesis.retrieval.polling.PollingConfig

/** The Kinesis Client Library, whose leases are in DynamoDB Local. */
object KclPeer extends Peer {

  /** What the service's documentation sets for low latency. */
  private val IdleMillis = 250L

  /** Leases are assigned each double of this: with the default of 10 s it takes a minute and a half until a worker reads. */
  private val FailoverMillis = 5000L

  private val CheckpointSeconds = 10L
  private val StopSeconds       = 60L

  private var applications = 0

  override def about: String =
    s"amazon-kinesis-client ${Peer.version("amazon-kinesis-client")} with DynamoDB Local, one `Scheduler`, default options but: " +
      s"`idleTimeBetweenReadsInMillis` $IdleMillis, as the service's documentation has it for low latency, and 0 without pauses, " +
      s"`failoverTimeMillis` $FailoverMillis, for a quicker start, and no CloudWatch metrics. " +
      s"A processor checkpoints each $CheckpointSeconds s."

  override def read(way: String, stream: KinesisStream): AutoCloseable = {
    val credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test"))
    val region      = Region.of(Peer.Region)
    val kinesis     = KinesisClientUtil.createKinesisAsyncClient(
      KinesisAsyncClient.builder
        .region(region)
        .credentialsProvider(credentials)
        .endpointOverride(URI.create(stream.endpoint))
    )
    val dynamoDb = DynamoDbAsyncClient.builder
      .region(region)
      .credentialsProvider(credentials)
      .endpointOverride(URI.create(sys.env("AWS_ENDPOINT_URL_DYNAMODB")))
      .build()
    val cloudWatch = CloudWatchAsyncClient.builder.region(region).credentialsProvider(credentials).build()
    // Leases of its own each time: those of another time say that all has been read.
    applications += 1
    val application = s"kcl-${stream.name}-$applications"
    val start       = InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON)
    val factory: ShardRecordProcessorFactory = () => new Processor
    val configs                              = new ConfigsBuilder(
      new SingleStreamTracker(stream.name, start),
      application,
      kinesis,
      dynamoDb,
      cloudWatch,
      UUID.randomUUID.toString,
      factory
    )
    val retrieval =
      if (way == "fan-out") new FanOutConfig(kinesis).streamName(stream.name).applicationName(application)
      else
        new PollingConfig(stream.name, kinesis)
          .idleTimeBetweenReadsInMillis(if (way == Peer.Unpaused) 0 else IdleMillis)
    val scheduler = new Scheduler(
      configs.checkpointConfig,
      configs.coordinatorConfig,
      configs.leaseManagementConfig.failoverTimeMillis(FailoverMillis),
      configs.lifecycleConfig,
      configs.metricsConfig.metricsFactory(new NullMetricsFactory),
      configs.processorConfig,
      configs.retrievalConfig.retrievalSpecificConfig(retrieval)
    )
    val thread = new Thread(scheduler, "scheduler")
    thread.setDaemon(true)
    thread.start()
    () => scheduler.startGracefulShutdown().get(StopSeconds, TimeUnit.SECONDS): Unit
  }

  private final class Processor extends ShardRecordProcessor {
    private var checkpointed = System.nanoTime()

    override def initialize(input: InitializationInput): Unit = ()

    override def processRecords(input: ProcessRecordsInput): Unit = {
      input.records.forEach { record =>
        val data = new Array[Byte](record.data.remaining)
        record.data.get(data)
        Received.record(data)
      }
      if (System.nanoTime() - checkpointed > TimeUnit.SECONDS.toNanos(CheckpointSeconds)) checkpoint(input.checkpointer)
    }

    override def leaseLost(input: LeaseLostInput): Unit                     = ()
    override def shardEnded(input: ShardEndedInput): Unit                   = checkpoint(input.checkpointer)
    override def shutdownRequested(input: ShutdownRequestedInput): Unit     = checkpoint(input.checkpointer)
    private def checkpoint(checkpointer: RecordProcessorCheckpointer): Unit = {
      // Another worker has the lease, or the same one again: the next owner of the shard checkpoints.
      try checkpointer.checkpoint()
      catch { case _: ShutdownException => }
      checkpointed = System.nanoTime()
    }
  }
}
