package io.github.kinesisspark.read.benchmarks

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.github.kinesisspark.shaded.software.amazon.awssdk.core.SdkBytes
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.benchmarks.RowPaths
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.reader.KinesisRecord

/** Records as buffers hold them: those of an answer in a few arrays. */
object PackedRecords {

  /** Of an answer. */
  private val Each = 4096
  private val Keys = 1000
  private val Seed = 16L

  private val made = TrieMap.empty[Int, Array[KinesisRecord]]

  /** @param size of a record's data, in bytes */
  def of(size: Int): Array[KinesisRecord] = made.getOrElseUpdate(size, pack(size))

  private def pack(size: Int) = {
    val random = new Random(Seed)
    (0 until RowPaths.ROWS)
      .grouped(Each)
      .flatMap(numbers => KinesisRecord.after(TrimHorizon, numbers.map(recordOf(_, size, random)).asJava))
      .toArray
  }

  private def recordOf(n: Int, size: Int, random: Random) = Record.builder
    .data(SdkBytes.fromByteArrayUnsafe(random.nextBytes(size)))
    .partitionKey(s"key-${random.nextInt(Keys)}")
    .sequenceNumber((BigInt(10).pow(55) + n).toString)
    .approximateArrivalTimestamp(java.time.Instant.EPOCH)
    .build
}
