package io.github.kinesisspark.it.source

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.testkit.{KinesisServerConfig, SubscriptionSettings}

/** A thousand subscriptions in one executor. They live 20 s here, so that all of them are renewed during the test. */
final class ManyShardsSpec
    extends TestkitSuite(KinesisServerConfig(subscriptions = SubscriptionSettings(life = 20.seconds)))
    with OneHotShard {
  import ManyShardsSpec._

  override protected def mode: Mode = Mode.FanOut

  describe("a thousand shards in one executor") {
    it("are each subscribed to, renewed and read, without additional threads", Slow) {
      val few  = newStream(shards = 4)
      val log  = new BatchLog
      val base = running(load(few), checkpoint())(log.add) { _ =>
        put(few, "r", 10)
        eventually(log.rows.size shouldBe 10)
        readerThreads
      }
      val stream = newStream(shards = Shards)
      val all    = new BatchLog
      val first  = kinesis.streams.shards(stream.name).map(shard => put1(stream.name, shard.id, "first"))
      running(load(stream), checkpoint())(all.add) { query =>
        eventually(timeout(Span(240, Seconds)))(all.texts.size shouldBe Shards)
        eventually(kinesis.subscriptions.live.count(_.stream == stream.name) shouldBe Shards)
        val opened = kinesis.subscriptions.opened
        eventually(timeout(Span(180, Seconds)))(kinesis.subscriptions.opened - opened should be >= Shards.toLong)
        val second = kinesis.streams.shards(stream.name).map(shard => put1(stream.name, shard.id, "second"))
        eventually(timeout(Span(180, Seconds)))(all.texts.sorted shouldBe (first ++ second).sorted)
        eventually(withClue(s"$base at 4 shards, $readerThreads at $Shards: ")(readerThreads should be <= base + Spare))
        metric(query, "subscriptionsFailed") shouldBe 0L
        oneHot(stream, all)
      }
      // One call a second for each shard at most, and not all in one moment.
      val starts = kinesis.calls.recent.filter(c => c.action == "SubscribeToShard" && c.stream.contains(stream.name))
      starts.groupBy(_.shards).values.foreach { calls =>
        calls.map(_.at).zip(calls.map(_.at).drop(1)).foreach { case (one, next) => next - one should be >= 700L }
      }
      val initial = starts.groupBy(_.shards).values.map(_.head.at)
      (initial.max - initial.min) should be >= 1000L
    }
  }

  /** Of the connector and the SDK beneath it; Spark's and the server's own come and go. */
  private def readerThreads: Int = Thread.getAllStackTraces.keySet.asScala
    .count(t => Seq("kinesis-shard-readers", "aws-java-sdk", "sdk-async-response").exists(t.getName.startsWith))
}

object ManyShardsSpec {
  val Shards = 1000

  /** Netty's pools grow to their fixed sizes. */
  private val Spare = 24
}

/** A thousand polled shards in one executor, with about one call per second and shard. */
final class ManyShardsPollingSpec extends TestkitSuite with OneHotShard {
  describe("a thousand polled shards") {
    it("are idle except for one, whose records are all read in order", Slow) {
      val stream = newStream(shards = ManyShardsSpec.Shards)
      val log    = new BatchLog
      running(load(stream), checkpoint())(log.add)(_ => oneHot(stream, log))
    }
  }
}

/** Puts many records into one shard, and none into the others. */
trait OneHotShard extends TestkitSuite {
  protected def oneHot(stream: TestStream, log: BatchLog): Unit = {
    val shards   = kinesis.streams.shards(stream.name)
    val hot      = shards(shards.size / 2).id
    val before   = log.rows.size
    val expected = (1 to 5000).map(i => put1(stream.name, hot, s"hot-$i"))
    eventually(log.rows.size shouldBe before + expected.size)
    log.texts.drop(before) shouldBe expected
  }

  protected def put1(stream: String, shard: String, prefix: String): String = {
    val text = s"$prefix-$shard"
    kinesis.streams.putInto(stream, shard, "key", text.getBytes)
    text
  }
}
