package io.github.kinesisspark.testkit

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model._

import scala.jdk.CollectionConverters._

/** PutRecord and PutRecords. */
class WriteSpec extends ServerSpec {
  import Clients._

  private def put(stream: String, key: String, more: PutRecordRequest.Builder => Unit = _ => ()): PutRecordResponse =
    await(
      kinesis.putRecord((b: PutRecordRequest.Builder) =>
        more(b.streamName(stream).partitionKey(key).data(SdkBytes.fromUtf8String("data")))
      )
    )

  it("a record goes to the shard of its partition key's hash or of its explicit hash key") {
    val stream = newStream(4)
    Seq("a", "b", "c", "d", "e", "f").foreach { key =>
      val expected = server.streams.shards(stream).find(_.range.contains(model.HashKey.of(key))).get.id
      put(stream, key).shardId shouldBe expected
    }
    server.streams.shards(stream).foreach { shard =>
      put(stream, "a", b => { b.explicitHashKey(shard.range.start.toString); () }).shardId shouldBe shard.id
      put(stream, "a", b => { b.explicitHashKey(shard.range.end.toString); () }).shardId shouldBe shard.id
    }
  }

  it("sequence numbers grow with gaps") {
    val stream  = newStream(1)
    val numbers = Vector.fill(50)(BigInt(put(stream, "k").sequenceNumber))
    numbers shouldBe numbers.sorted
    numbers.distinct should have size 50
    numbers.zip(numbers.drop(1)).map { case (a, b) => b - a }.distinct.size should be > 1
  }

  it("PutRecords stores records in order per shard, and answers for each entry") {
    val stream  = newStream(2)
    val entries = Vector.tabulate(500)(i => s"key-$i" -> s"data-$i")
    val answer  = kinesis.putAll(stream, entries)
    answer.failedRecordCount shouldBe 0
    val stored = Vector(0, 1).map(i => kinesis.readAll(stream, shardId(i)))
    stored.foreach(data => data shouldBe data.sortBy(_.stripPrefix("data-").toInt))
    stored.flatten should contain theSameElementsAs entries.map(_._2)
    answer.records.asScala.zip(entries).foreach { case (placed, (key, _)) =>
      placed.shardId shouldBe server.streams.shards(stream).find(_.range.contains(model.HashKey.of(key))).get.id
    }
  }

  it(
    "with reorderPutRecords, the seed decides in which order a call's records are stored, and the answer has the request's"
  ) {
    val entries                        = Vector.tabulate(50)(i => "key" -> s"data-$i")
    def stored(seed: Long, calls: Int) = {
      val config = KinesisServerConfig(clock = clock, seed = seed, reorderPutRecords = true)
      val other  = closing(KinesisServer.start(config))
      val sdk    = closing(client(other.endpoint))
      sdk.create("events", 1)
      val answers  = Vector.fill(calls)(sdk.putAll("events", entries)).flatMap(_.records.asScala)
      val records  = sdk.get(sdk.iterator("events", shardId(0))).records.asScala.toVector
      val byNumber = answers.map(_.sequenceNumber).zip(Vector.fill(calls)(entries).flatten.map(_._2))
      records.map(r => r.sequenceNumber -> r.data.asUtf8String) should contain theSameElementsAs byNumber
      records.map(_.data.asUtf8String)
    }
    val Seq(one, two) = stored(seed = 1, calls = 2).grouped(50).toSeq: @unchecked
    for (call <- Seq(one, two)) {
      call should not be entries.map(_._2)
      call.sorted shouldBe entries.map(_._2).sorted
    }
    one should not be two
    stored(seed = 1, calls = 1) shouldBe one
    stored(seed = 2, calls = 1) should not be one
  }

  it("requests beyond a limit, with invalid keys or to a missing stream are refused and store nothing") {
    val stream = newStream(1)
    val half   = "x" * (512 * 1024)
    codeOf(kinesis.putAll(stream, Vector.fill(501)("k" -> "d"))) shouldBe "ValidationException"
    codeOf(kinesis.putAll(stream, Vector.empty)) shouldBe "ValidationException"
    codeOf(kinesis.putAll(stream, Vector.fill(21)("k" -> half))) shouldBe "InvalidArgumentException"
    codeOf(kinesis.put(stream, "k", half * 2)) shouldBe "ValidationException"
    codeOf(put(stream, "")) shouldBe "ValidationException"
    codeOf(put(stream, "k" * 257)) shouldBe "ValidationException"
    codeOf(put(stream, "k", b => { b.explicitHashKey("-1"); () })) shouldBe "InvalidArgumentException"
    codeOf(put("nobody", "k")) shouldBe "ResourceNotFoundException"
    server.streams.recordCount(stream) shouldBe 0
  }

  it("records of the maximum size, with empty data or a key of 256 non-ASCII characters are stored") {
    val stream = newStream(1)
    kinesis.put(stream, "k", "x" * (1024 * 1024 - 1))
    kinesis.put(stream, "é" * 256, "")
    kinesis.readAll(stream, shardId(0)).map(_.length) shouldBe Vector(1024 * 1024 - 1, 0)
  }
}
