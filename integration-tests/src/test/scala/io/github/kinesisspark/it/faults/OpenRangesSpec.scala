package io.github.kinesisspark.it.faults

import scala.concurrent.duration._

import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule}

final class OpenRangesSpec extends TestkitSuite {

  /** So long that a busy machine has made the calls of 8 shards before the first answer. */
  private val AnswerTime = 10.seconds
  private val InAShard   = 50

  /** The most calls that were under way at once, of the last call for each shard's records: the driver may have looked at them before. */
  private def mostAtOnce(stream: String): Int = {
    val begun = kinesis.calls.recent
      .filter(c => c.action == "GetRecords" && c.stream.contains(stream) && c.records == InAShard)
      .groupMapReduce(_.shards)(_.at)(math.max)
      .values
      .toVector
    begun.map(at => begun.count(other => other <= at && at - other < AnswerTime.toMillis)).max
  }

  it("a batch read of 16 shards by 2 tasks reads from at least 8 shards at once") {
    val stream = newStream(shards = 16)
    for (shard <- kinesis.streams.shards(stream.name); i <- 0 until InAShard)
      kinesis.streams.putInto(stream.name, shard.id, "k", Array[Byte](i.toByte))
    underFault(FaultRule(FaultEffect.Delay(AnswerTime), Some("GetRecords"), Some(stream.name))) {
      backfill(stream).count() shouldBe 16L * InAShard
    }
    mostAtOnce(stream.name) should be >= 8
  }
}
