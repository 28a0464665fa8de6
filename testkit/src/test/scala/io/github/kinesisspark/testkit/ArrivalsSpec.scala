package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Records whose arrival times go back by up to ten seconds. */
class ArrivalsSpec extends ServerSpec {
  import Clients._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(reads = ReadBehavior(arrivalsBackBy = 10.seconds))

  private def filled(records: Int): (String, Vector[Record]) = {
    val stream = newStream(1)
    clock.advance(Duration.ofMinutes(1))
    (1 to records).foreach { i =>
      server.streams.put(stream, "k", s"$i")
      clock.advance(Duration.ofMillis(100))
    }
    (stream, kinesis.get(kinesis.iterator(stream, shardId(0))).records.asScala.toVector)
  }

  it("arrival times go back from record to record while sequence numbers grow") {
    val (_, records) = filled(200)
    val arrivals     = records.map(_.approximateArrivalTimestamp)
    records.map(_.sequenceNumber) shouldBe records.map(_.sequenceNumber).sorted
    arrivals.zip(arrivals.tail).count { case (one, next) => next.isBefore(one) } should be > 50
  }

  it("an AT_TIMESTAMP iterator begins at the first record of its time or later, also if arrival times go back") {
    val (stream, records) = filled(200)
    records.map(_.approximateArrivalTimestamp).foreach { time =>
      val found =
        kinesis.iterator(stream, shardId(0), ShardIteratorType.AT_TIMESTAMP, b => { b.timestamp(time); () })
      kinesis.get(found, limit = Some(1)).records.get(0) shouldBe
        records.find(r => !r.approximateArrivalTimestamp.isBefore(time)).get
    }
  }

  it("every record within retention is kept, and all after it, also if arrival times go back") {
    val (stream, records) = filled(200)
    clock.advance(Duration.ofHours(24).minus(Duration.ofSeconds(15)))
    val horizon = clock.instant.minus(Duration.ofHours(24))
    kinesis.readAll(stream, shardId(0)) shouldBe
      records.dropWhile(_.approximateArrivalTimestamp.isBefore(horizon)).map(_.data.asUtf8String)
  }
}
