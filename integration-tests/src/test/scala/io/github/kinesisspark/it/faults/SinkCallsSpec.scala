package io.github.kinesisspark.it.faults

import scala.concurrent.duration._
import scala.util.Try

import org.apache.spark.sql.functions._
import org.scalatest.tagobjects.Slow
import software.amazon.awssdk.services.kinesis.model.UpdateMaxRecordSizeRequest

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.sink.Written
import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, Occurrence, ResetPoint}

/** PutRecords calls that fail as a whole. */
final class SinkCallsSpec extends TestkitSuite with CapturedLogs {
  private def once(effect: FaultEffect, stream: TestStream) =
    FaultRule(effect, Some("PutRecords"), Some(stream.name), occurrence = Occurrence.First(1))

  it("a PutRecords call that is sent again as a whole is logged with its stream") {
    val stream    = newStream(shards = 1)
    val rows      = spark.range(0, 100, 1, 1).select(col("id").cast("string").as("data"))
    val lost      = once(FaultEffect.Reset(ResetPoint.AfterCall), stream)
    val (_, logs) = withLogs(underFault(lost)(save(rows, stream)))
    Written.texts(stream).size should be > 100
    val said = logs.linesIterator.filter(line => line.contains("PutRecords") && line.contains(stream.name))
    said.toSeq should not be empty
  }

  it("an answer of PutRecords that takes 45 seconds is waited for, and its records are stored once", Slow) {
    val stream = newStream(shards = 1)
    underFault(once(FaultEffect.Delay(45.seconds), stream))(
      save(spark.range(0, 100, 1, 1).select(col("id").cast("string").as("data")), stream)
    )
    Written.texts(stream) should have size 100
  }

  describe("badRecords=skip skips no record that the service would take when a proxy answers") {
    def skipsNone(status: Int): Unit = {
      val stream = newStream(shards = 1)
      service.call(
        _.updateMaxRecordSize(UpdateMaxRecordSizeRequest.builder.streamARN(stream.arn()).maxRecordSizeInKiB(4096).build)
      )
      val large = spark.range(0, 3, 1, 1).select(rpad(col("id").cast("string"), 2 << 20, "x").as("data"))
      val saved = underFault(once(FaultEffect.HttpStatus(status), stream))(
        Try(save(large, stream, "badRecords" -> "skip"))
      )
      // A write that fails has skipped nothing, either.
      if (saved.isSuccess) Written.texts(stream).map(_.head).toSet shouldBe Set('0', '1', '2')
    }

    it("HTTP 408")(skipsNone(408))
    it("HTTP 413")(skipsNone(413))
  }
}
