package io.github.kinesisspark.read.row

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.StructType
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.aggregation.UserRecord
import io.github.kinesisspark.read.reader.KinesisRecord

class RecordRowSpec extends AnyFunSpec with Matchers {
  private val whole = KinesisRecord(number(7), "key", "seven".getBytes, 1700000000123L)
  private val other = KinesisRecord(number(8), null, "eight".getBytes, 1700000000124L)

  private def columns(names: String*) = StructType(names.map(SourceSchema.schema(_)))

  private def values(row: InternalRow, of: StructType): Seq[Any] = row.toSeq(of).map {
    case bytes: Array[Byte] => new String(bytes)
    case null               => null
    case value: Long        => value
    case text               => text.toString
  }

  /** As Spark reads a row: by its own projection, which also asks which columns are null. */
  private def projected(row: InternalRow, of: StructType): Seq[Any] = values(UnsafeProjection.create(of)(row), of)

  describe("the row of a record") {
    it("has the record's values in each column of the schema") {
      val row = new RecordRow(shard(0), SourceSchema.schema)
      projected(row.show(whole), SourceSchema.schema) shouldBe
        Seq[Any]("seven", "key", null, number(7).text, 0L, 1700000000123000L, shard(0).stream.name, shard(0).shardId)
      projected(row.show(other), SourceSchema.schema) shouldBe
        Seq[Any]("eight", null, null, number(8).text, 0L, 1700000000124000L, shard(0).stream.name, shard(0).shardId)
    }

    it("has the user record's data, keys and place, and the number and time of the record it was packed in") {
      val row  = new RecordRow(shard(0), SourceSchema.schema)
      val user = UserRecord("packed".getBytes, "own", Some(BigInt(5)))
      projected(row.show(user, 3, whole), SourceSchema.schema) shouldBe
        Seq[Any]("packed", "own", "5", number(7).text, 3L, 1700000000123000L, shard(0).stream.name, shard(0).shardId)
      projected(row.show(whole), SourceSchema.schema).take(3) shouldBe Seq("seven", "key", null)
    }

    it("has the wanted columns alone, in the order they are wanted in") {
      val wanted = columns("shardId", "subSequenceNumber", "data")
      projected(new RecordRow(shard(1), wanted).show(whole), wanted) shouldBe Seq[Any](shard(1).shardId, 0L, "seven")
    }

    it("keeps its values as a copy when the row shows the next record") {
      val row  = new RecordRow(shard(0), SourceSchema.schema)
      val copy = row.show(whole).copy()
      row.show(other)
      values(copy, SourceSchema.schema).take(2) shouldBe Seq("seven", "key")
      values(row, SourceSchema.schema).take(2) shouldBe Seq("eight", null)
    }
  }
}
