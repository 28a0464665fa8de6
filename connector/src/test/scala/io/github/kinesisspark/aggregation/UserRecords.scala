package io.github.kinesisspark.aggregation

import java.nio.ByteBuffer
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.scalacheck.Gen
import software.amazon.kinesis.retrieval.{AggregatorUtil, KinesisClientRecord}
import software.amazon.kinesis.retrieval.kpl.{Messages => KclMessages}

import io.github.kinesisspark.position.{HashKey, HashKeyRange, Shard}

/** User records to test with, and what the KCL makes of them. */
object UserRecords {
  val data: Gen[Array[Byte]] =
    Gen.frequency(8 -> Gen.choose(0, 60), 1 -> Gen.choose(100, 3000)).flatMap(Gen.containerOfN[Array, Byte](_, bytes))

  private def bytes = Gen.choose(Byte.MinValue, Byte.MaxValue)

  /** Few enough to meet again, and some of them none of ASCII. */
  val partitionKeys: Gen[String] = Gen.oneOf(
    Gen.choose(0, 30).map(n => s"key-$n"),
    Gen.oneOf("ключ", "鍵", "🗝", "a", "k" * 256),
    Gen.nonEmptyListOf(Gen.alphaNumChar).map(_.mkString.take(256))
  )

  val hashKeys: Gen[BigInt] = Gen.oneOf(
    Gen.oneOf(BigInt(0), BigInt(1), HashKey.Last, HashKey.Last / 2, HashKey.Last / 2 + 1),
    Gen.containerOfN[Array, Byte](16, bytes).map(BigInt(1, _))
  )

  val userRecord: Gen[UserRecord] = Gen.zip(data, partitionKeys, Gen.option(hashKeys)).map((UserRecord.apply _).tupled)

  val some: Gen[Vector[UserRecord]] = Gen.choose(1, 40).flatMap(Gen.containerOfN[Vector, UserRecord](_, userRecord))

  /** Disjoint, and all of the hash space. */
  val shards: Gen[Vector[Shard]] = for {
    n      <- Gen.choose(0, 8)
    starts <- Gen.listOfN(n, hashKeys)
  } yield {
    val all = (BigInt(0) +: starts).distinct.sorted.toVector
    all.zip(all.tail.map(_ - 1) :+ HashKey.Last).zipWithIndex.map { case ((start, end), i) =>
      Shard(f"shardId-$i%012d", Nil, HashKeyRange(start, end), closed = false)
    }
  }

  def aggregated(records: Iterable[UserRecord]): Array[Byte] =
    records.foldLeft(new AggregatedRecord[UserRecord])(_.add(_)).payload

  /** With what arrays hold instead of which they are. */
  def shown(record: UserRecord): (Seq[Byte], String, Option[BigInt]) =
    (record.data.toSeq, record.partitionKey, record.explicitHashKey)

  /** What the KCL gives its application of one Kinesis record: for each user record its content, and its place. */
  def toKcl(payload: Array[Byte], shard: HashKeyRange): Vector[(UserRecord, Long)] = {
    val record = KinesisClientRecord.builder
      .data(ByteBuffer.wrap(payload))
      .partitionKey("a")
      .sequenceNumber("1")
      .approximateArrivalTimestamp(Instant.EPOCH)
      .build
    val out = new AggregatorUtil().deaggregate(List(record).asJava, shard.start.bigInteger, shard.end.bigInteger)
    out.asScala.map { r =>
      val bytes = new Array[Byte](r.data.remaining)
      r.data.get(bytes)
      UserRecord(bytes, r.partitionKey, Option(r.explicitHashKey).map(BigInt(_))) -> r.subSequenceNumber
    }.toVector
  }

  /** The message as the KCL's own classes write it. */
  def kclMessage(records: Seq[UserRecord]): Array[Byte] = {
    val keys    = records.map(_.partitionKey).distinct
    val hashes  = records.flatMap(_.explicitHashKey).distinct
    val message = KclMessages.AggregatedRecord.newBuilder
      .addAllPartitionKeyTable(keys.asJava)
      .addAllExplicitHashKeyTable(hashes.map(_.toString).asJava)
    records.foreach { record =>
      val one = message.addRecordsBuilder
      one.setPartitionKeyIndex(keys.indexOf(record.partitionKey).toLong)
      record.explicitHashKey.foreach(key => one.setExplicitHashKeyIndex(hashes.indexOf(key).toLong))
      one.setData(com.google.protobuf.ByteString.copyFrom(record.data))
    }
    message.build.toByteArray
  }
}
