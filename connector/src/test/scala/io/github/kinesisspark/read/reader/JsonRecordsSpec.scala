package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.Generators.seeds
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.reader.RandomRecords.shown

class JsonRecordsSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  describe("an event's JSON") {
    it(
      "yields the records that the SDK would, and leaves it the rest, whatever the sizes, spaces and order of members"
    ) {
      forAll(seeds) { seed =>
        val random       = new Random(seed)
        val records      = Vector.tabulate(random.nextInt(60))(n => record(random, n))
        val (ours, rest) = split(event(records, random))
        val theirs       = KinesisRecord.after(TrimHorizon, records.asJava)
        shown(ours) shouldBe shown(theirs)
        RecordTotals.of(ours) shouldBe RecordTotals.of(theirs)
        val left = ujson.read(rest).obj
        left.keySet should contain theSameElementsAs Members
        left("Records").arr shouldBe empty
        left("ChildShards").arr should have size 1
      }
    }

    it("yields the record, whatever the names and values of members that nobody knows") {
      val plain = shown(split(one())._1)
      for (
        value <- Seq(
          "\"of\"",
          "\"\"",
          "\"a\\\"\\u00e4\\n\u00fc\"",
          "null",
          "true",
          "false",
          "0",
          "-12.50e+3",
          "[]",
          "{}",
          "{\"Data\":\"none of the record\",\"SequenceNumber\":[{\"a\":[ ]} , 1]}"
        )
      ) withClue(value)(shown(split(one("Unknown" -> value, "data" -> value))._1) shouldBe plain)
    }

    it("yields times with fewer and more digits than milliseconds, and with exponents") {
      def millis(number: String) = split(one("ApproximateArrivalTimestamp" -> number))._1.head.arrivalMillis
      millis("1700000000") shouldBe 1700000000000L
      millis("1700000000.5") shouldBe 1700000000500L
      millis("1700000000.1239") shouldBe 1700000000123L
      millis("1.700000000123E9") shouldBe 1700000000123L
      millis("1.7e+9") shouldBe 1700000000000L
      millis("0.001") shouldBe 1L
    }

    it("is left to the SDK where anything in it is not as expected") {
      def isLeft(text: String)                      = Try(split(text.getBytes(UTF_8))).isFailure
      def isLeftWith(member: String, value: String) = isLeft(new String(one(member -> value), UTF_8))
      val all                                       = new String(one(), UTF_8)
      isLeft(all) shouldBe false
      isLeftWith("PartitionKey", "null") shouldBe false
      isLeftWith("EncryptionType", "\"KMS\"") shouldBe false
      for (
        data <- Seq("null", "\"aGk\"", "\"aG=k\"", "\"aGk=aGk=\"", "\"a===\"", "\"a\\/aa\"", "\"aGk-\"", "\"aGkh", "7")
      )
        withClue(data)(isLeftWith("Data", data) shouldBe true)
      for (number <- Seq("null", "\"\"", "\"01\"", "\"1x\"", s"\"${"1" * 130}\"", "1"))
        withClue(number)(isLeftWith("SequenceNumber", number) shouldBe true)
      for (key <- Seq("7", "\"a\\ud800\"", "\"a\\x\"", "\"a\\n\tb\"", "\"a\tb\"", "nul", "\"open", "\"open\\n"))
        withClue(key)(isLeftWith("PartitionKey", key) shouldBe true)
      for (time <- Seq("null", "\"1\"", "1.", ".5", "-1", "01", "1e", "true", "1700000000.1234567890"))
        withClue(time)(isLeftWith("ApproximateArrivalTimestamp", time) shouldBe true)
      for (
        value <- Seq(
          "",
          "tru",
          "nulll",
          "01",
          "1.",
          "-",
          "1e",
          "+1",
          "\"a\tb\"",
          "\"\\x\"",
          "\"\\u00g0\"",
          "\"open",
          "[1 2]",
          "[1,]",
          "{\"a\"}",
          "{1:2}",
          "{\"a\":1,}",
          "[}",
          "[" * 40 + "]" * 40
        )
      ) withClue(value)(isLeftWith("Unknown", value) shouldBe true)
      for (member <- Seq("Data", "SequenceNumber", "ApproximateArrivalTimestamp"))
        withClue(member)(isLeft(all.replace(s"\"$member\"", "\"EncryptionType\"")) shouldBe true)
      isLeft(all.replace("\"PartitionKey\"", "\"Data\"")) shouldBe true
      isLeft(s"{${all.drop(1).dropRight(1)},${all.drop(1)}") shouldBe true
      isLeft(all.replace("}]", "},]")) shouldBe true
      isLeft(all + "x") shouldBe true
      for (other <- Seq("", "{}", "[]", "7", "{\"Records\":null}", "{\"Records\":[]", "{\"Records\":[],}"))
        withClue(other)(isLeft(other) shouldBe true)
    }

    it("yields data of each length, and is left to the SDK where any character of them is not base64's") {
      for (length <- 0 to 40) {
        val data    = Array.tabulate(length)(i => (i * 37 + length).toByte)
        val encoded = Base64.getEncoder.encodeToString(data)
        split(one("Data" -> s"\"$encoded\""))._1.head.data shouldBe data
        for (i <- encoded.indices if encoded(i) != '='; wrong <- Seq('-', '_', ' ', '\u0000', 'é', '~'))
          withClue(s"$encoded, $i, $wrong") {
            Try(split(one("Data" -> s"\"${encoded.updated(i, wrong)}\""))).isFailure shouldBe true
          }
        for (i <- 0 to encoded.length; wrong <- Seq(' ', '\r', '\n', '\t', '='))
          withClue(s"$encoded, $wrong before $i") {
            Try(split(one("Data" -> s"\"${encoded.patch(i, s"$wrong", 0)}\""))).isFailure shouldBe true
          }
      }
    }

    it("is left to the SDK where records are out of order, or a key is no UTF-8") {
      val random                   = new Random(1)
      val first                    = record(random, 1)
      val second                   = record(random, 2)
      def isLeft(records: Record*) = Try(split(event(records, random))).isFailure
      isLeft(first, second) shouldBe false
      isLeft(second, first) shouldBe true
      isLeft(first, first) shouldBe true
      val damaged = one("PartitionKey" -> "\"k#\"").map(byte => if (byte == '#') 0xc0.toByte else byte)
      Try(split(damaged)).isFailure shouldBe true
    }

    it("is left to the SDK where it ends early, and read or left where a byte of it is changed") {
      forAll(seeds) { seed =>
        val random  = new Random(seed)
        val records = Vector.tabulate(1 + random.nextInt(4))(n => record(random, n))
        val whole   = event(records, random)
        Try(split(whole.take(random.nextInt(whole.lastIndexOf('}'))))).isFailure shouldBe true
        whole(random.nextInt(whole.length)) = random.nextInt().toByte
        // Neither endless nor beyond memory, and nothing but an exception.
        Try(split(whole))
      }
    }
  }

  private val Members = Seq("Records", "ContinuationSequenceNumber", "MillisBehindLatest", "ChildShards")

  /** Not at the beginning of its array, and not at the end. */
  private def split(event: Array[Byte]): (Array[KinesisRecord], Array[Byte]) =
    JsonRecords.split(
      ByteBuffer.wrap("#".getBytes ++ event ++ "}]\"=".getBytes, 1, event.length).slice(),
      JsonRecords.NoRecords
    )

  private def record(random: Random, n: Int) =
    RandomRecords.record(random, n, atLimit = (12 << 10) + random.nextInt(7) - 3)

  private def event(records: Seq[Record], random: Random): Array[Byte] = {
    def space                               = if (random.nextInt(10) == 0) " \n" else ""
    def members(all: Seq[(String, String)]) =
      random
        .shuffle(all)
        .map { case (name, value) => s"$space\"$name\"$space:$space$value$space" }
        .mkString("{", ",", s"}$space")
    members(
      Seq(
        "Records" -> records
          .map { r =>
            members(
              Seq(
                "Data"                        -> s"\"${Base64.getEncoder.encodeToString(r.data.asByteArrayUnsafe)}\"",
                "SequenceNumber"              -> s"\"${r.sequenceNumber}\"",
                "ApproximateArrivalTimestamp" -> java.math.BigDecimal
                  .valueOf(r.approximateArrivalTimestamp.toEpochMilli, 3)
                  .toString
              ) ++ Option(r.partitionKey).map(key =>
                "PartitionKey" -> ujson.write(key, escapeUnicode = random.nextBoolean())
              ) ++
                Option.when(random.nextBoolean())("EncryptionType" -> "\"NONE\"")
            )
          }
          .mkString("[", ",", "]"),
        "ContinuationSequenceNumber" -> "\"7\\u0031\"",
        "MillisBehindLatest"         -> "-1.5e3",
        "ChildShards" -> "[{\"ShardId\":\"a]}\\\"\",\"ParentShards\":[\"b\"],\"HashKeyRange\":{\"StartingHashKey\":null}}]"
      )
    ).getBytes(UTF_8)
  }

  /** An event of one record with a member instead of its own, or beside them. */
  private def one(other: (String, String)*): Array[Byte] = {
    val record = Map(
      "Data"                        -> "\"aGk=\"",
      "SequenceNumber"              -> "\"12\"",
      "PartitionKey"                -> "\"k\"",
      "ApproximateArrivalTimestamp" -> "1700000000.5"
    ) ++ other
    record
      .map { case (name, value) => s"\"$name\":$value" }
      .mkString("{\"Records\":[{", ",", "}]}")
      .getBytes(UTF_8)
  }
}
