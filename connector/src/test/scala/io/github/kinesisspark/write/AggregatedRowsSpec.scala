package io.github.kinesisspark.write

import org.apache.logging.log4j.Level
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.aggregation.{UserRecord, UserRecords}
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{SinkOptions, StreamRef}
import io.github.kinesisspark.runtime.VirtualTime

/** Rows of a stream that was read with deaggregate=false. */
class AggregatedRowsSpec extends AnyFunSpec with Matchers with CapturedLogs {
  private val aggregated = UserRecords.aggregated(Seq("x", "y").map(key => UserRecord(Array[Byte](1, 2), key)))

  /** The warnings of one task after another, each with rows of this data. */
  private def warnings(tasks: Seq[Array[Byte]]*): Seq[String] = {
    val time = new VirtualTime
    import time.runtime
    val writers = new WriterRuntime(new KinesisClients((_, _) => fail("no call is made")))
    val columns =
      SinkColumns(data = 0, isText = false, partitionKey = Some(1), explicitHashKey = None, targetStream = None)
    val (_, logged) =
      withLogs(Map(classOf[AggregatedRows].getName -> Level.WARN))(tasks.zipWithIndex.foreach { case (rows, task) =>
        val reader = new RowReader(columns, Some(StreamRef.ByName("events")), "run", task)
        val writer =
          new KinesisDataWriter(reader, SinkOptions.parse(Map("streamName" -> "events")), None, false, writers)
        rows.foreach(data => writer.write(new GenericInternalRow(Array[Any](data, UTF8String.fromString("key")))))
        writer.close()
      })
    logged.linesIterator.filter(_.contains("aggregated record")).toSeq
  }

  describe("a row whose data is an aggregated record") {
    it("causes a warning with its stream and what to do, the first of all tasks at once") {
      val lines = warnings(Seq(Array[Byte](0), aggregated, aggregated), Seq(aggregated))
      lines should have size 1
      lines.head should (startWith("WARN") and include("Row run-0-1 for stream events") and include("deaggregate=true"))
    }
  }

  describe("a row whose data only begins as an aggregated record, or has another checksum") {
    it("causes no warning") {
      val damaged = aggregated.updated(aggregated.length - 1, (aggregated.last + 1).toByte)
      warnings(Seq(Array.emptyByteArray, aggregated.take(4), aggregated.take(20), damaged)) shouldBe empty
    }
  }
}
