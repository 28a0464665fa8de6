package io.github.kinesisspark.testkit

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model.{
  DescribeStreamSummaryRequest,
  KinesisException,
  StreamDescriptionSummary
}

import scala.collection.mutable

/** A suite with one server on a manual clock, and one client. */
abstract class ServerSpec extends AnyFunSpec with Matchers with BeforeAndAfterAll {
  import Clients._

  protected def config: KinesisServerConfig = KinesisServerConfig()

  protected val clock: ManualClock = ManualClock()
  protected lazy val server        = KinesisServer.start(config.copy(clock = clock))
  private val clients              = mutable.Buffer.empty[AutoCloseable]
  protected lazy val kinesis       = closing(client(server.endpoint))

  /** Closes it with the suite. */
  protected def closing[A <: AutoCloseable](resource: A): A = { clients += resource; resource }

  private var streams = 0

  /** A new stream of this suite. */
  protected def newStream(shards: Int): String = {
    streams += 1
    val name = s"stream-$streams"
    server.streams.createStream(name, shards)
    name
  }

  protected def shardId(index: Int): String = model.ShardInfo.id(index)

  protected def arnOf(stream: String, account: String = config.accountId): String =
    s"arn:aws:kinesis:us-east-1:$account:stream/$stream"

  protected def summary(stream: String): StreamDescriptionSummary = await(
    kinesis.describeStreamSummary { (b: DescribeStreamSummaryRequest.Builder) => b.streamName(stream); () }
  ).streamDescriptionSummary

  /** The error code with which a call of the SDK fails. */
  protected def codeOf(call: => Any): String = (the[KinesisException] thrownBy call).awsErrorDetails.errorCode

  override protected def afterAll(): Unit = {
    clients.foreach(_.close())
    server.close()
  }
}
