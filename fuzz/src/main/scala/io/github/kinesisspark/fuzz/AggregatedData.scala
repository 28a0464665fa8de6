package io.github.kinesisspark.fuzz

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import io.github.kinesisspark.aggregation.{AggregatedRecord, UserRecord}
import io.github.kinesisspark.position.{HashKey, HashKeyRange}

/** Data that begins as the KPL's: it is taken apart, all of it, or passed through. The first byte of the input says whether the
  * rest is the data itself or a message for which marks and checksum are made.
  */
object AggregatedData extends Target {
  override val name = "aggregated"

  override def check(input: Array[Byte]): Unit = if (input.nonEmpty) {
    val payload = if (input(0) % 2 == 0) input.drop(1) else enveloped(input.drop(1))
    AggregatedRecord.read(payload) match {
      case all: AggregatedRecord.Aggregated =>
        Broken.unless(all.records.iterator.map(_.data.length.toLong).sum <= payload.length)("more data than there was")
        val places = halves.flatMap(all.within).map(_.place).sorted
        Broken.unless(places == all.records.indices.map(_.toLong))(s"of ${all.records.size} records are left $places")
        val again = AggregatedRecord.read(all.records.foldLeft(new AggregatedRecord[UserRecord])(_ add _).payload)
        Broken.unless(all.records.isEmpty || sameIn(again, all))("packed again, it holds other records")
      case AggregatedRecord.Plain | _: AggregatedRecord.Damaged => ()
    }
  }

  private def sameIn(again: AggregatedRecord.Content, all: AggregatedRecord.Aggregated) = again match {
    case AggregatedRecord.Aggregated(records) => records.map(shown) == all.records.map(shown)
    case _                                    => false
  }

  private def shown(record: UserRecord) = (record.data.toVector, record.partitionKey, record.explicitHashKey)

  private val middle = BigInt(1) << 127
  private val halves = Vector(HashKeyRange(0, middle - 1), HashKeyRange(middle, HashKey.Last))

  private def enveloped(message: Array[Byte]) = {
    val out = new ByteArrayOutputStream
    out.write(Array(0xf3, 0x89, 0x9a, 0xc2).map(_.toByte))
    out.write(message)
    out.write(MessageDigest.getInstance("MD5").digest(message))
    out.toByteArray
  }

  override def seeds: Seq[Array[Byte]] = {
    val whole = Seq(
      UserRecord("a".getBytes(UTF_8), "key-1"),
      UserRecord(Array.emptyByteArray, "key-2", Some(HashKey.Last)),
      UserRecord("c".getBytes(UTF_8), "key-1", Some(0))
    ).foldLeft(new AggregatedRecord[UserRecord])(_ add _).payload
    Seq(0.toByte +: whole, 1.toByte +: whole.slice(4, whole.length - 16), 0.toByte +: whole.take(20))
  }
}
