package io.github.kinesisspark.it.fanout

import java.time.Duration
import java.util.UUID

import io.github.kinesisspark.aws.{BlockingTime, ConsumerClaims, FanOutConsumers}
import io.github.kinesisspark.config.{RecordPublisherConfig, SourceOptions}
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}
import io.github.kinesisspark.testkit.{KinesisServer, KinesisServerConfig, ManualClock}
import io.github.kinesisspark.testkit.model.ConsumerDelays

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

/** A server on which a consumer is CREATING for 4 s and DELETING for 2 s, on a clock that advances only while the
  * code under test waits. Each wait is half of its maximum.
  */
final class ConsumerWorld(
    delays: ConsumerDelays = ConsumerDelays(create = 4.seconds, delete = 2.seconds),
    enforceLimits: Boolean = false,
    val clock: ManualClock = ManualClock()
) extends AutoCloseable {

  val server: KinesisServer =
    KinesisServer.start(KinesisServerConfig(clock = clock, consumerDelays = delays, enforceLimits = enforceLimits))

  val claims: ConsumerClaims            = new ConsumerClaims
  val waits: ListBuffer[FiniteDuration] = ListBuffer.empty

  /** What happens during the next wait. */
  var meanwhile: () => Unit = () => ()

  val waiting: BlockingTime = BlockingTime(
    now = () => clock.millis,
    nanos = () => clock.millis * 1000000,
    chance = () => 0.5,
    sleep = d => {
      waits += d
      clock.advance(Duration.ofMillis(d.toMillis))
      val happens = meanwhile
      meanwhile = () => ()
      happens()
    }
  )

  def pass(time: FiniteDuration): Unit = clock.advance(Duration.ofMillis(time.toMillis))

  def newStream(): StreamArn = {
    val name = s"s-${UUID.randomUUID().toString.take(13)}"
    server.streams.createStream(name, 1)
    StreamArn(s"arn:aws:kinesis:us-east-1:000000000000:stream/$name")
  }

  /** As another application has it. */
  def others(stream: StreamArn): Others = new Others(this, stream)

  def options(streams: StreamArn*)(more: (String, String)*): Map[String, String] = Map(
    "streamName"      -> streams.map(_.name).mkString(","),
    "region"          -> server.region,
    "endpoint"        -> server.endpoint.toString,
    "accessKeyId"     -> "test",
    "secretAccessKey" -> "test",
    "recordPublisher" -> "efo"
  ) ++ more

  def open(streams: StreamArn*)(more: (String, String)*): FanOutConsumers = open(options(streams*)(more*))

  def open(options: Map[String, String]): FanOutConsumers = {
    val parsed = SourceOptions.parse(options)
    parsed.recordPublisher match {
      case RecordPublisherConfig.FanOut(fanOut) => FanOutConsumers.open(parsed.streams, fanOut, waiting, claims)
      case RecordPublisherConfig.Polling        => throw new IllegalArgumentException("polling")
    }
  }

  /** The consumers of a query that starts, and stops again without deregistering them. */
  def resolve(streams: StreamArn*)(more: (String, String)*): Map[StreamArn, ConsumerArn] = {
    val consumers = open(streams*)(more*)
    try consumers.resolve()
    finally consumers.close()
  }

  def calls(action: String): Long = server.calls.count(action)

  override def close(): Unit = server.close()
}
