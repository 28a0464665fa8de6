package io.github.kinesisspark.it.source

import org.apache.spark.sql.DataFrame
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.it.{KinesisService, TestStream}
import io.github.kinesisspark.testkit.{FaultRule, KinesisServer, KinesisServerConfig, MovableClock, ServiceClock}

/** A suite with its own embedded server, whose faults and clock it controls. */
abstract class TestkitSuite(clock: MovableClock, server: KinesisServer)
    extends SourceSuite(TestkitSuite.serviceOf(server)) {
  def this(clock: MovableClock, config: KinesisServerConfig) =
    this(clock, KinesisServer.start(config.copy(clock = clock)))
  def this(clock: MovableClock) = this(clock, KinesisServerConfig())
  def this(config: KinesisServerConfig) = this(ServiceClock.shifted(), config)
  def this() = this(ServiceClock.shifted())

  override protected def ownsServer: Boolean = true

  protected def kinesis: KinesisServer    = server
  protected def serverClock: MovableClock = clock

  /** Runs `body` while the rules are in force; each of them must have struck. */
  protected def underFault[A](rules: FaultRule*)(body: => A): A = {
    rules.foreach(kinesis.faults.add)
    try {
      val outcome = body
      withClue("faults that never struck, so nothing was tested: ")(
        kinesis.faults.list.filter(_.struck == 0) shouldBe empty
      )
      outcome
    } finally kinesis.faults.clear()
  }

  /** What is in a stream, between positions if they are given. */
  protected def backfill(stream: TestStream, more: (String, String)*): DataFrame =
    spark.read.format("kinesis").options(options(stream) ++ more).load()

  /** @param order the shards of rows, as they came */
  protected def parentsComeFirst(stream: TestStream, order: Vector[String]): Unit =
    for {
      shard  <- kinesis.streams.shards(stream.name)
      parent <- shard.parents
      if order.contains(shard.id) && order.contains(parent)
    } order.lastIndexOf(parent) should be < order.indexOf(shard.id)

  override protected def afterAll(): Unit = {
    super.afterAll()
    service.close()
  }
}

object TestkitSuite {
  private def serviceOf(server: KinesisServer) = new KinesisService(
    Some(server.endpoint),
    Region.of(server.region),
    StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")),
    () => server.close()
  )
}
