package io.github.kinesisspark.read.row

import org.apache.logging.log4j.Level
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aggregation.AggregatedRecord
import io.github.kinesisspark.position.{HashKeyRange, ShardPosition, ShardRange}
import io.github.kinesisspark.read.reader.KinesisRecord

class RecordRowsSpec extends AnyFunSpec with Matchers with CapturedLogs {
  private def corrupt(n: Long) = KinesisRecord(number(n), "key", AggregatedRecord.Magic ++ Array[Byte](1, 2, 3), 0)

  describe("corrupt aggregated records of a range") {
    it("are logged once, with their count, the shard and the sequence number of the first") {
      val range     = ShardRange(shard(3), ShardPosition.TrimHorizon, ShardPosition.AfterSequenceNumber(number(9)))
      val rows      = new RecordRows(range, SourceSchema.schema, Some(HashKeyRange.all))
      val (_, logs) = withLogs(Map(classOf[RecordRows].getName -> Level.WARN)) {
        Seq(7L, 8L, 9L).foreach(n => rows.of(corrupt(n)).size shouldBe 1)
        rows.warn()
      }
      val warnings = logs.linesIterator.filter(_.contains(classOf[RecordRows].getName)).toVector
      warnings should have size 1
      warnings.head should (startWith("WARN") and include(shard(3).shardId) and include(": 3 records"))
      warnings.head should include(s"The first is ${number(7)}: ")
      warnings.head should not include number(8).text
    }
  }
}
