package io.github.kinesisspark.it.source

import java.net.URI

import scala.concurrent.duration._

import org.scalatest.Suites
import org.scalatest.tags.Slow

import io.github.kinesisspark.it.RealisticServer
import io.github.kinesisspark.testkit.KinesisServerConfig

/** With a server that has the service's quotas. */
abstract class LimitedSuite extends TestkitSuite(KinesisServerConfig(enforceLimits = true)) {
  protected def refused(action: String): Int =
    kinesis.calls.recent.count(call => call.action == action && call.error.nonEmpty)
}

/** Reads from a server that enforces the service's quotas. */
final class ServiceLimits(override protected val mode: Mode) extends LimitedSuite {
  override def suiteName: String = s"Service limits by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  describe("a backlog beyond the largest answer") {
    it("is read at the service's rate, with one refused call after a 10 MiB answer") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val data   = Array.fill((1 << 20) - 1)('x'.toByte)
      for (_ <- 1 to 12) kinesis.streams.put(stream.name, "k", data)
      running(load(stream), checkpoint())(log.add)(_ => eventually(log.rows.size shouldBe 12))
      log.texts.map(_.length).distinct shouldBe Seq(data.length)
      inOrder(log)
      refused("SubscribeToShard") shouldBe 0
      // After an answer of 10 MB the service refuses the calls of the next 5 s.
      refused("GetRecords") should be <= 1
    }
  }
}

/** A sole reader of shards that have AWS's quotas, at a name of AWS's. */
@Slow
final class SoleReader extends LimitedSuite {
  override protected def mode: Mode = Mode.Polling
  override def suiteName: String    = "A sole reader of shards at AWS"

  describe("a backlog of 60 MiB in each of two shards") {
    it("is read at 0.97 of the service's rate, with at most one refused call of a shard") {
      val stream = newStream(shards = 2)
      val data   = Array.fill((1 << 18) - 1)('x'.toByte)
      val shards = kinesis.streams.shards(stream.name).map(_.id)
      for (_ <- 1 to Records; shard <- shards) kinesis.streams.putInto(stream.name, shard, "k", data)
      val aws   = URI.create(s"http://${RealisticServer.HostName}:${kinesis.endpoint.getPort}")
      val log   = new BatchLog
      val began = System.nanoTime()
      running(load(stream, "endpoint" -> aws.toString), checkpoint())(log.add)(_ =>
        eventually(log.rows.size shouldBe Records * shards.size)
      )
      val took = (System.nanoTime() - began).nanos
      inOrder(log)
      refused("GetRecords") should be <= shards.size
      took should be <= (Records / (OfSecond * 0.97)).seconds + Start
    }
  }

  /** Of each shard. */
  private val Records = 240

  /** As many as a shard may give in a second. */
  private val OfSecond = 8

  /** Of the query, and of its last batch. */
  private val Start = 3.seconds
}

class ServiceLimitsSpec extends Suites(Mode.both.map(new ServiceLimits(_)) :+ new SoleReader: _*)
