package io.github.kinesisspark.it.sink

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.TestkitSuite
import io.github.kinesisspark.testkit.{FaultRule, Occurrence, ResetPoint}
import io.github.kinesisspark.testkit.FaultEffect.{RefuseEntries, Reset}

/** Runs the recipes of docs/how-to/write.md: a pipeline from Kinesis to Kinesis repeats records after lost answers and
  * replayed batches, and readers that drop repeats by identity get each record once.
  */
final class EffectivelyOnceSpec extends TestkitSuite {

  private def copying(from: TestStream, to: TestStream)(rows: DataFrame => DataFrame) = {
    val at          = checkpoint()
    def run(): Unit = {
      val query = rows(load(from, "maxRecordsPerTrigger" -> "300")).writeStream
        .format("kinesis")
        .options(options(to))
        .option("checkpointLocation", at.toString)
        .trigger(Trigger.AvailableNow)
        .start()
      query.awaitTermination()
    }
    underFault(
      FaultRule(Reset(ResetPoint.AfterCall), Some("PutRecords"), Some(to.name), occurrence = Occurrence.Every(4)),
      FaultRule(RefuseEntries(0.2), Some("PutRecords"), Some(to.name))
    ) {
      run()
      // As after a crash before the commit: the last batches run again, in tasks that may be cut otherwise.
      eraseCommit(at, 2L + Random.nextInt(2))
      run()
    }
  }

  private def read(stream: TestStream): DataFrame = load(stream)

  private def collected(rows: DataFrame, column: String): Seq[String] = {
    val name  = s"t${Random.nextInt().abs}"
    val query = rows
      .selectExpr(column)
      .writeStream
      .format("memory")
      .queryName(name)
      .option("checkpointLocation", checkpoint().toString)
      .trigger(Trigger.AvailableNow)
      .start()
    query.awaitTermination()
    spark.table(name).collect().iterator.map(_.getString(0)).toSeq
  }

  it("a source position as partition key lets readers drop repeats and read each row once") {
    val Seq(source, target) = Seq.fill(2)(newStream(shards = 2)): @unchecked
    val texts               = put(source, "x", 1500)
    copying(source, target)(
      _.selectExpr("data", "concat(shardId, '/', sequenceNumber, '/', subSequenceNumber) AS partitionKey")
    )
    collected(read(target), "string(data)").size should be > texts.size
    val once = read(target)
      .withWatermark("approximateArrivalTimestamp", "10 minutes")
      .dropDuplicatesWithinWatermark("partitionKey")
    collected(once, "string(data)").sorted shouldBe texts.sorted
  }

  it("a source position in the data lets readers drop repeats and read each row once") {
    val Seq(source, target) = Seq.fill(2)(newStream(shards = 2)): @unchecked
    val texts               = put(source, "x", 1500)
    copying(source, target)(
      _.selectExpr(
        "partitionKey",
        "to_json(struct(concat(shardId, '/', sequenceNumber, '/', subSequenceNumber) AS id, string(data) AS text)) AS data"
      )
    )
    val once = read(target)
      .selectExpr("approximateArrivalTimestamp", "from_json(string(data), 'id string, text string') AS record")
      .selectExpr("approximateArrivalTimestamp", "record.*")
      .withWatermark("approximateArrivalTimestamp", "10 minutes")
      .dropDuplicatesWithinWatermark("id")
    collected(once, "text").sorted shouldBe texts.sorted
  }
}
