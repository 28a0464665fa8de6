package io.github.kinesisspark.it.fanout

import java.time.Duration
import java.util.UUID

import io.github.kinesisspark.aws.{FakeTime, FanOutConsumers, KinesisClients}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}
import io.github.kinesisspark.runtime.Runtime
import io.github.kinesisspark.testkit.{AccessKey, Account, KinesisServer, KinesisServerConfig, ManualClock, Principal}
import io.github.kinesisspark.testkit.model.ConsumerDelays

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

/** A server on which a consumer is CREATING for 4 s and DELETING for 2 s, on a clock that advances only while the
  * code under test waits. Each wait is half of its maximum.
  *
  * @param denied IAM actions that the policy of the code under test denies
  */
final class ConsumerWorld(
    delays: ConsumerDelays = ConsumerDelays(create = 4.seconds, delete = 2.seconds),
    enforceLimits: Boolean = false,
    val clock: ManualClock = ManualClock(),
    denied: Seq[String] = Nil
) extends AutoCloseable {

  val server: KinesisServer = {
    val config = KinesisServerConfig(clock = clock, consumerDelays = delays, enforceLimits = enforceLimits)
    KinesisServer.start(if (denied.isEmpty) config else config.copy(accounts = Seq(account(config.accountId))))
  }

  private def account(id: String): Account = {
    def statement(effect: String, actions: Seq[String]) =
      s"""{"Effect":"$effect","Action":[${actions.map(a => s"\"$a\"").mkString(",")}],"Resource":"*"}"""
    val policy = s"""{"Statement":[${statement("Allow", Seq("kinesis:*"))},${statement("Deny", denied)}]}"""
    val app    = Principal.user(id, "app", AccessKey("test", "test")).copy(policy = Some(policy))
    Account(id, Seq(Principal.root(id, AccessKey("other", "other")), app))
  }

  val waits: ListBuffer[FiniteDuration] = ListBuffer.empty

  /** What happens during the next wait. */
  var meanwhile: () => Unit = () => ()

  private implicit val runtime: Runtime = FakeTime.runtime(
    () => clock.millis,
    time => {
      waits += time
      clock.advance(Duration.ofMillis(time.toMillis))
      val happens = meanwhile
      meanwhile = () => ()
      happens()
    }
  )

  /** Those of the driver under test. */
  val clients: KinesisClients = newClients()

  /** Those of another driver. */
  def newClients(): KinesisClients =
    new KinesisClients(KinesisClients.make(runtime.workers.growing("credentials"), 30.seconds))

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

  /** @param query  its id
    * @param clients of the driver that it runs in
    */
  def open(
      options: Map[String, String],
      query: String = ConsumerWorld.Query,
      clients: KinesisClients = clients
  ): FanOutConsumers = {
    val parsed = SourceOptions.parse(options)
    FanOutConsumers.open(parsed.streams, fanOutOf(parsed), Some(query), clients)
  }

  /** As `load()` does. */
  def begin(options: Map[String, String], clients: KinesisClients = clients): Unit = {
    val parsed = SourceOptions.parse(options)
    FanOutConsumers.begin(parsed.streams, fanOutOf(parsed), clients)
  }

  private def fanOutOf(options: SourceOptions) =
    options.fanOut.getOrElse(throw new IllegalArgumentException("polling"))

  /** The consumers of a query that starts, and stops again without deregistering them. */
  def resolve(streams: StreamArn*)(more: (String, String)*): Map[StreamArn, ConsumerArn] = {
    val consumers = open(streams*)(more*)
    try consumers.resolve()
    finally consumers.close()
  }

  def calls(action: String): Long = server.calls.count(action)

  override def close(): Unit = server.close()
}

object ConsumerWorld {

  /** The id of the query that tests are about. */
  val Query = "3b6e3f5a-93c8-4c2b-8f8c-0f3f8b1d2a77"
}
