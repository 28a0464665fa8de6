package io.github.kinesisspark.it.sink

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.it.TestStream

/** Reads the records of a stream without the connector, each shard in order. */
object Written {
  def records(stream: TestStream): Map[String, Seq[Record]] = stream
    .shards()
    .map { shard =>
      shard.shardId -> stream.drain(stream.trimHorizon(shard.shardId)).flatMap(_.records.asScala)
    }
    .toMap

  def texts(stream: TestStream): Seq[String] = records(stream).values.flatten.map(_.data.asUtf8String).toSeq
}
