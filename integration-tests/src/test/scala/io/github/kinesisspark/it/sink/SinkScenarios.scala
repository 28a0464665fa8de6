package io.github.kinesisspark.it.sink

import java.nio.file.Files

import org.apache.spark.SparkException
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Suites

import io.github.kinesisspark.it.{KinesisTarget, TestRun, TestStream}
import io.github.kinesisspark.it.source.{Passes, SourceSuite}

/** Writes streams through the public API on every server. Reads them by the SDK alone, so that no error of the
  * source can hide one of the sink.
  */
final class SinkScenarios(target: KinesisTarget) extends SourceSuite(target.service) {
  override def suiteName: String = s"Writing on $target"
  override def suiteId: String   = s"${getClass.getName}-$target"

  private def numbered(count: Long, tasks: Int = 3): DataFrame = spark.range(0, count, 1, tasks).toDF()

  private val text: Column = concat(lit("row-"), col("id")).as("data")

  describe("a batch write") {
    it("writes every row once, spread over all shards by default") {
      val stream = newStream(shards = 4)
      save(numbered(3000).select(text), stream)
      val written = Written.records(stream)
      written.values.flatten.map(_.data.asUtf8String).toSeq.sorted shouldBe (0 until 3000).map(n => s"row-$n").sorted
      // A quarter each, were they exact.
      written.values.foreach(_.size should be > 500)
      written.values.flatten.map(_.partitionKey).toSet should have size 3000
    }

    it("writes partition keys, explicit hash keys, binary data and empty data") {
      val stream = newStream(shards = 2)
      val rows   = numbered(100).select(
        encode(when(col("id") === 0, "").otherwise(col("id").cast("string")), "UTF-8").as("data"),
        concat(lit("ключ-"), col("id")).as("partitionKey"),
        when(col("id") % 2 === 0, (BigInt(1) << 128) - 1 match { case n => n.toString }).as("explicitHashKey")
      )
      save(rows, stream)
      val last    = stream.openShards().last.shardId
      val written = Written.records(stream)
      written.values.flatten.map(_.partitionKey).toSet shouldBe (0 until 100).map(n => s"ключ-$n").toSet
      val even = written.values.flatten.filter(r => r.partitionKey.stripPrefix("ключ-").toInt % 2 == 0).toSet
      even.size shouldBe 50
      written(last).filter(even).size shouldBe 50
      written.values.flatten.find(_.partitionKey == "ключ-0").get.data.asByteArray shouldBe empty
    }

    it("writes rows to the streams named by their column, and others to the stream of the option") {
      val Seq(a, b, c) = Seq.fill(3)(newStream(shards = 1)): @unchecked
      val named        = when(col("id") % 3 === 0, a.name).when(col("id") % 3 === 1, b.arn())
      save(numbered(300).select(text, named.as("targetStream")), c)
      for ((stream, n) <- Seq(a, b, c).zipWithIndex)
        Written.texts(stream).sorted shouldBe (n until 300 by 3).map(i => s"row-$i").sorted
    }

    it("writes to a stream given by ARN") {
      val stream = newStream(shards = 1)
      save(numbered(10).select(text), options(stream) - "streamName" + ("streamArn" -> stream.arn()))
      Written.texts(stream) should have size 10
    }

    it("splits large records over several PutRecords calls") {
      val stream = newStream(shards = 2)
      save(numbered(13, 1).select(rpad(col("id").cast("string"), 1000 * 1000, "x").as("data")), stream)
      Written.texts(stream).map(_.takeWhile(_ != 'x').toInt).sorted shouldBe (0 until 13)
    }

    it("fails on a row that cannot be written, before any call, and the error names the row") {
      val stream = newStream(shards = 1)
      val bad    = Seq[(Column, String)](
        when(col("id") =!= 7, "k").as("partitionKey")                            -> "partitionKey is null",
        when(col("id") =!= 7, "k").otherwise("").as("partitionKey")              -> "partitionKey is empty",
        when(col("id") =!= 7, "k").otherwise("k" * 257).as("partitionKey")       -> "257 characters",
        when(col("id") === 7, "2e3").as("explicitHashKey")                       -> "explicitHashKey is '2e3'",
        when(col("id") === 7, (BigInt(1) << 128).toString).as("explicitHashKey") -> "from 0 to 2^128-1",
        when(col("id") === 7, "no/name").as("targetStream")                      -> "targetStream is 'no/name'"
      )
      for ((column, why) <- bad) withClue(s"$why: ") {
        val failure = intercept[SparkException](save(numbered(10, 1).select(text, column), stream))
        causes(failure).map(_.getMessage).mkString should (include("KINESIS_BAD_RECORD") and include(why) and include(
          "-0-7"
        ))
      }
      val none  = numbered(10, 1).select(when(col("id") =!= 7, text).as("data"))
      val large = numbered(10, 1).select(when(col("id") === 7, rpad(lit(""), 11 << 20, "x")).otherwise("x").as("data"))
      for ((rows, why) <- Seq(none -> "data is null", large -> "10 MiB is the most"))
        causes(intercept[SparkException](save(rows, stream))).map(_.getMessage).mkString should include(why)
      Written.texts(stream) shouldBe empty
    }

    it("leaves out rows that cannot be written with badRecords=skip") {
      val stream = newStream(shards = 1)
      save(numbered(100).select(when(col("id") % 10 =!= 7, text).as("data")), stream, "badRecords" -> "skip")
      Written.texts(stream) should have size 90
    }

    it("to a missing stream fails with the stream's name") {
      val absent  = new TestStream(service, TestRun.named("no-such-stream"))
      val failure = intercept[SparkException](save(numbered(10).select(text), absent))
      causes(failure).map(_.getMessage).mkString should (include("KINESIS_NOT_FOUND") and include("no-such-stream"))
    }
  }

  describe("an ordered write") {
    it("keeps the order of rows per partition key") {
      val stream = newStream(shards = 2)
      val rows   = numbered(2000, 2).select(
        col("id").cast("string").as("data"),
        concat(lit("key-"), col("id") % 20).as("partitionKey")
      )
      save(
        rows.repartition(2, col("partitionKey")).sortWithinPartitions(col("data").cast("long")),
        stream,
        "ordered" -> "true"
      )
      val written = Written.records(stream).values.flatten.toSeq
      written should have size 2000
      written.groupBy(_.partitionKey).foreach { case (_, ofKey) =>
        val numbers = ofKey.map(_.data.asUtf8String.toLong)
        numbers shouldBe numbers.sorted
      }
    }
  }

  describe("a streaming write during a split and a merge") {
    it("writes every row") {
      val stream = newStream(shards = 2)
      val source = Files.createTempDirectory("rows-").toString
      numbered(4000, 8).select(text).write.mode("append").parquet(source)
      val query = spark.readStream
        .schema("data string")
        .option("maxFilesPerTrigger", "1")
        .parquet(source)
        .writeStream
        .format("kinesis")
        .options(options(stream))
        .option("checkpointLocation", checkpoint().toString)
        .start()
      try {
        val Seq(first, second) = stream.openShards(): @unchecked
        stream.split(first)
        stream.merge(awaitOpen(stream, 3)(1), second)
        query.processAllAvailable()
      } finally query.stop()
      awaitOpen(stream, 2)
      Written.texts(stream).sorted shouldBe (0 until 4000).map(n => s"row-$n").sorted
    }
  }

  describe("a streaming query") {
    it("writes every row in append and update mode, and reports metrics") {
      val source = Files.createTempDirectory("rows-").toString
      numbered(500).select(text).write.mode("append").parquet(source)
      val streamed = spark.readStream.schema("data string").parquet(source)
      val updated  = streamed.groupBy("data").count().select(concat(col("data"), lit("="), col("count")).as("data"))
      for ((rows, mode, expected) <- Seq((streamed, "append", "row-7"), (updated, "update", "row-7=1"))) {
        val stream = newStream(shards = 2)
        val query  = rows.writeStream
          .format("kinesis")
          .options(options(stream))
          .option("checkpointLocation", checkpoint().toString)
          .queryName(s"sink-$mode")
          .outputMode(mode)
          .trigger(Trigger.AvailableNow)
          .start()
        query.awaitTermination()
        val written = Written.texts(stream)
        written should have size 500
        written should contain(expected)
        val metrics = query.lastProgress.sink.metrics
        metrics.get("records") shouldBe "500"
        metrics.get("calls").toLong should be >= 1L
        metrics.get("bytes").toLong should be > 500L
      }
    }
  }

  private def causes(e: Throwable): Seq[Throwable] = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).toSeq
}

class SinkSpec extends Suites(Passes.sinks(new SinkScenarios(_)): _*)
