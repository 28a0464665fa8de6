package io.github.kinesisspark.it.source

import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.scalatest.Suites

import io.github.kinesisspark.it.TestStream

/** Streams with `RecordDistributionStrategy` AUTO, which put records into shards of their own choice, with or without a key. The SDK's release has no words for
  * them, so calls are made in JSON.
  */
final class KeylessRecords(override protected val mode: Mode) extends TestkitSuite {
  override def suiteName: String = s"Keyless records by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private def call(action: String, body: ujson.Obj): ujson.Value = {
    val request = HttpRequest
      .newBuilder(kinesis.endpoint)
      .header("X-Amz-Target", s"Kinesis_20131202.$action")
      .header("Content-Type", "application/x-amz-json-1.1")
      .POST(HttpRequest.BodyPublishers.ofString(ujson.write(body)))
      .build()
    val answer = HttpClient.newHttpClient.send(request, HttpResponse.BodyHandlers.ofString)
    withClue(s"$action: ${answer.body}: ")(answer.statusCode shouldBe 200)
    if (answer.body.isEmpty) ujson.Obj() else ujson.read(answer.body)
  }

  private def distributing(shards: Int): TestStream = {
    val stream = newStream(shards)
    val arn    = stream.arn()
    call(
      "UpdateStreamMode",
      ujson.Obj("StreamARN" -> arn, "StreamModeDetails" -> ujson.Obj("StreamMode" -> "ON_DEMAND"))
    )
    call(
      "UpdateStreamRecordDistributionStrategy",
      ujson.Obj("StreamARN" -> arn, "RecordDistributionStrategy" -> "AUTO")
    )
    stream
  }

  /** Puts records, of which those with an even number have no key. */
  private def putMixed(stream: TestStream, count: Int): Seq[(String, Option[String])] = {
    val records = (0 until count).map(i => (s"record-$i", Option.when(i % 2 == 1)("key")))
    val entries = records.map { case (text, key) =>
      val data = ujson.Obj("Data" -> java.util.Base64.getEncoder.encodeToString(text.getBytes))
      key.foreach(k => data("PartitionKey") = k)
      data
    }
    val answer = call("PutRecords", ujson.Obj("StreamName" -> stream.name, "Records" -> ujson.Arr.from(entries)))
    answer("FailedRecordCount").num shouldBe 0
    answer("Records").arr.map(_("ShardId").str).distinct should have size stream.openShards().size.toLong
    records
  }

  private def rowsOf(batch: DataFrame): Seq[(String, Option[String])] =
    batch
      .selectExpr("cast(data as string)", "partitionKey")
      .collect()
      .toSeq
      .map(r => (r.getString(0), Option(r.getString(1))))

  describe("records of a stream that distributes them itself") {
    it("are each read once by a query, and those without a key have none") {
      val stream   = distributing(shards = 4)
      val rows     = new ConcurrentLinkedQueue[(String, Option[String])]
      val expected = putMixed(stream, 80)
      running(load(stream), checkpoint())((batch, _) => rowsOf(batch).foreach(rows.add)) { query =>
        eventually {
          query.exception shouldBe None
          rows.asScala.toSeq.sorted shouldBe expected.sorted
        }
      }
    }

    it("are each read once by a batch read, and those without a key have none") {
      val stream   = distributing(shards = 4)
      val expected = putMixed(stream, 80)
      rowsOf(backfill(stream, mode.batchOptions.toSeq: _*)).sorted shouldBe expected.sorted
    }
  }
}

class KeylessRecordsSpec extends Suites(Mode.both.map(new KeylessRecords(_)): _*)
