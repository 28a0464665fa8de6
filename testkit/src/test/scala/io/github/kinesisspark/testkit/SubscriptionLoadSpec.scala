package io.github.kinesisspark.testkit

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import scala.jdk.CollectionConverters._

/** Tests the server's memory and threads with slow subscribers and with a thousand subscriptions. */
class SubscriptionLoadSpec extends SubscriptionSuite {

  override protected def config: KinesisServerConfig = KinesisServerConfig(tlsPort = Some(0))

  private val Megabyte = 1000000

  /** The server's own threads. */
  private def threads: Int =
    Thread.getAllStackTraces.keySet.asScala.count(_.getName.startsWith("kinesis-testkit"))

  describe("A subscriber that asks for nothing") {
    it("is sent nothing beyond its window and one event, and receives all events once it requests them") {
      val stream = newStream(2)
      val arn    = consumer(stream)
      (0 until 40).foreach(n => server.streams.putInto(stream, shardId(0), s"$n", new Array(Megabyte)))
      val slow = subscribe(arn, demand = 1)
      slow.event().records.get(0).partitionKey shouldBe "0"
      // Of the same connection, another one gets far more than the slow one could have been given meanwhile.
      val fast = subscribe(arn, shard = 1)
      (0 until 100).foreach { n =>
        server.streams.putInto(stream, shardId(1), s"$n", new Array(Megabyte))
        fast.event().records.get(0).partitionKey shouldBe s"$n"
      }
      liveOf(arn).find(_.shardId == shardId(0)).map(_.events).get should be <= 4L
      slow.pending shouldBe 0
      slow.request(Long.MaxValue)
      (1 until 40).foreach(n => slow.event().records.get(0).partitionKey shouldBe s"$n")
    }
  }

  describe("A thousand subscriptions") {
    it("on one connection all receive their events without threads of their own") {
      val shards = 1000
      val stream = newStream(shards)
      val arn    = consumer(stream)
      val raw    = new RawSubscriptions(server.tlsEndpoint.get, server.tlsCertificate.get)
      def open(indices: Range): Seq[RawSubscriptions.Live] = {
        val opened = indices.map(n => raw.subscribe(arn, shardId(n)))
        opened.foreach(kindOf(_) shouldBe "initial-response")
        opened
      }
      val ten     = open(0 until 10)
      val withTen = threads
      // Ten at a time: a thousand calls at once would have the threads that answer calls grow for a while.
      val all = ten ++ (10 until shards by 10).flatMap(n => open(n until n + 10))
      liveOf(arn) should have size shards.toLong
      (0 until shards).foreach(n => server.streams.putInto(stream, shardId(n), s"key-$n", Array.emptyByteArray))
      all.zipWithIndex.foreach { case (live, n) =>
        new String(live.next().getPayload, UTF_8) should include(s""""PartitionKey":"key-$n"""")
      }
      clock.advance(Duration.ofSeconds(5))
      all.foreach(kindOf(_) shouldBe "SubscribeToShardEvent")
      // The pool grows with calls at the same time, not with subscriptions.
      threads should be <= withTen + shards / 10
      all.foreach(_.cancel())
      eventually(liveOf(arn) shouldBe empty)
    }
  }

  private def kindOf(live: RawSubscriptions.Live): String = live.next().getHeaders.get(":event-type").getString
}
