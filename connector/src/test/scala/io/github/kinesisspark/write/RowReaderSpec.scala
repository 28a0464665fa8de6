package io.github.kinesisspark.write

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.write.send.{BadRecord, Entry}

class RowReaderSpec extends AnyFunSpec with Matchers {
  private val rows = new RowReader(
    SinkColumns(data = 0, isText = true, partitionKey = Some(1), explicitHashKey = None, targetStream = None),
    Some(StreamRef.ByName("events")),
    "run",
    task = 0
  )

  private def read(key: String): Either[BadRecord, Entry] = read(UTF8String.fromString(key))

  private def read(key: UTF8String): Either[BadRecord, Entry] =
    rows.read(new GenericInternalRow(Array[Any](UTF8String.fromString("data"), key)))

  describe("a partition key") {
    it("may have 256 characters, whatever their bytes") {
      for (character <- Seq("k", "é", "漢", "😀")) {
        val key = character * 256
        read(key).map(_.partitionKey) shouldBe Right(key)
      }
    }

    it("is refused with 257 characters, or none") {
      for (character <- Seq("k", "é", "漢", "😀"))
        read(character * 257).left.map(_.why) shouldBe Left("partitionKey has 257 characters; 256 are the most.")
      read("").left.map(_.why) shouldBe Left("partitionKey is empty.")
    }

    it("whose bytes aren't UTF-8 is refused if its text has more than 256 characters") {
      // Each is the first of four bytes of a character, by itself.
      def invalid(bytes: Int) = UTF8String.fromBytes(Array.fill(bytes)(0xf0.toByte))
      read(invalid(256)).map(_.partitionKey) shouldBe Right("\ufffd" * 256)
      read(invalid(257)).left.map(_.why) shouldBe Left("partitionKey has 257 characters; 256 are the most.")
    }
  }
}
