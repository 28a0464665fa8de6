package io.github.kinesisspark.it.source

import org.apache.spark.sql.{AnalysisException, DataFrame}

import io.github.kinesisspark.config.OptionException
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.sink.Written
import io.github.kinesisspark.write.SinkSchemaException

/** Tests how the table provider distinguishes reads and writes. Spark doesn't say which it wants, but passes other
  * arguments.
  */
class ReadOrWriteSpec extends TestkitSuite {
  private def clause(stream: TestStream, more: Map[String, String] = Map.empty) =
    (options(stream) ++ more).map { case (key, value) => s"'$key' '$value'" }.mkString(", ")

  private def inTable(stream: TestStream, more: Map[String, String] = Map.empty)(body: => Any): Unit = {
    spark.sql(s"CREATE TABLE orders USING kinesis OPTIONS (${clause(stream, more)})")
    try body: Unit
    finally spark.sql("DROP TABLE orders"): Unit
  }

  private def writing(rows: DataFrame, to: TestStream, expected: Seq[String]): Unit = {
    val query = rows.writeStream
      .format("kinesis")
      .options(options(to))
      .option("checkpointLocation", checkpoint().toString)
      .start()
    try eventually(Written.texts(to).sorted shouldBe expected.sorted)
    finally query.stop()
  }

  it("read.load, readStream.load and both reads of a catalog table read the stream") {
    val stream                                  = newStream(shards = 1)
    val all                                     = put(stream, "r", 10)
    def streamed(frame: DataFrame): Seq[String] = {
      val log = new BatchLog
      running(frame, checkpoint())(log.add)(_ => eventually(log.texts should have size 10))
      log.texts
    }
    texts(backfill(stream)) shouldBe all
    streamed(load(stream)) shouldBe all
    inTable(stream) {
      texts(spark.table("orders")) shouldBe all
      texts(spark.read.option("endingPosition", "LATEST").table("orders")) shouldBe all
      streamed(spark.readStream.option("startingPosition", "TRIM_HORIZON").table("orders")) shouldBe all
    }
  }

  it("write.save and writeStream.start write to the stream, also rows read from Kinesis") {
    val Seq(from, a, b, c) = Seq.fill(4)(newStream(shards = 1)): @unchecked
    val all                = put(from, "r", 10)
    save(backfill(from).select("data", "partitionKey"), a)
    writing(load(from).select("data", "partitionKey"), b, all)
    inTable(from)(save(spark.table("orders").select("data", "partitionKey"), c))
    for (to <- Seq(a, b, c)) Written.texts(to).sorted shouldBe all.sorted
  }

  it("writing rows with all columns of the source is refused") {
    val stream = newStream(shards = 1)
    put(stream, "r", 10)
    intercept[SinkSchemaException](save(backfill(stream), stream)).getMessage should include("sequenceNumber")
    intercept[SinkSchemaException](writing(load(stream), stream, Nil)).getMessage should include("sequenceNumber")
    Written.texts(stream) should have size 10
  }

  it("a catalog table has the source's columns, and refuses inserts and a given schema") {
    val stream = newStream(shards = 1)
    put(stream, "r", 10)
    def refused(sql: String) = intercept[AnalysisException](spark.sql(sql)).getMessage
    inTable(stream) {
      refused("INSERT INTO orders SELECT * FROM orders") should include("does not support append in batch mode")
    }
    refused(s"CREATE TABLE orders (data BINARY) USING kinesis OPTIONS (${clause(stream)})") should include("schema")
    Written.texts(stream) should have size 10
  }

  it("CREATE TABLE with wrong options is refused") {
    intercept[OptionException](
      spark.sql("CREATE TABLE orders USING kinesis OPTIONS (streamNames 'x')")
    ).getMessage should
      include("Unknown option 'streamNames'. Did you mean 'streamName'?")
    spark.catalog.tableExists("orders") shouldBe false
  }

  it("a catalog table whose options have become wrong can be listed, described and dropped, but not read") {
    inTable(newStream(shards = 1)) {
      spark.sql("ALTER TABLE orders SET TBLPROPERTIES ('option.streamNames' = 'x')")
      spark.catalog.listTables().collect().map(_.name) shouldBe Array("orders")
      spark.sql("DESCRIBE orders").collect().map(_.getString(0)) should contain("sequenceNumber")
      intercept[OptionException](spark.table("orders").collect()).getMessage should include("'streamNames'")
    }
    spark.catalog.tableExists("orders") shouldBe false
  }

  it("a catalog table with efo.registration = eager registers no consumer until it is read") {
    val stream = newStream(shards = 1)
    val eager  = Map("recordPublisher" -> "efo", "efo.consumerName" -> "app", "efo.registration" -> "eager")
    inTable(stream, eager) {
      spark.catalog.listTables().collect().map(_.name) shouldBe Array("orders")
      spark.sql("DESCRIBE EXTENDED orders").collect()
      spark.sql("EXPLAIN SELECT * FROM orders").collect()
    }
    kinesis.calls.count("RegisterStreamConsumer", stream.name) shouldBe 0
  }

  it("a reader with a schema is refused, and the error says to leave it out") {
    val stream                      = newStream(shards = 1)
    val schema                      = backfill(stream).schema
    def refused(read: => DataFrame) = intercept[IllegalArgumentException](read).getMessage should
      include("To read, leave out schema(...): the source's columns are fixed.")
    for (more <- Seq(Map.empty[String, String], Map("startingPosition" -> "TRIM_HORIZON"))) {
      refused(spark.read.schema(schema).format("kinesis").options(options(stream) ++ more).load())
      refused(spark.readStream.schema(schema).format("kinesis").options(options(stream) ++ more).load())
    }
  }
}
