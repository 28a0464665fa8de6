package io.github.kinesisspark

import java.util

import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{KinesisOffset, OffsetJson, ShardPosition, StreamArn}
import io.github.kinesisspark.read.stream.CheckpointOffsets
import org.apache.spark.sql.SparkSession

import scala.jdk.CollectionConverters._

/** [[StreamShards]] for callers in another language: options as a Java map, shards as a JSON array of objects, whose hash keys are
  * texts because they have 128 bits; what isn't known is null.
  */
object StreamShardsJson {

  /** @param offset as Spark's offset log and a query's progress have it; empty for none */
  def list(options: util.Map[String, String], offset: String): String = {
    val from = if (offset.isEmpty) KinesisOffset.initial else OffsetJson.read(offset)
    ujson.write(ujson.Arr.from(StreamShards.list(options.asScala.toMap, from).map(json)))
  }

  /** The same with where a stopped query continues.
    *
    * @param checkpoint see [[CheckpointOffsets.lastCommitted]]
    * @param source     of several that read one of the streams: its name, or else its number from 0; empty for none
    */
  def listFrom(
      spark: SparkSession,
      options: util.Map[String, String],
      checkpoint: String,
      source: String
  ): String = {
    val handed                  = options.asScala.toMap
    val asked                   = SourceOptions.parseStreams(handed).map(_.stream)
    def isAsked(arn: StreamArn) = asked.exists(stream => stream.arn.fold(stream.name == arn.name)(_ == arn))
    val from                    = CheckpointOffsets
      .in(checkpoint, SessionHadoop.of(spark))
      .lastCommitted(Option.when(source.nonEmpty)(source), isAsked)
    ujson.write(ujson.Arr.from(StreamShards.list(handed, from).map(json)))
  }

  private def json(view: ShardView): ujson.Value = ujson.Obj(
    "streamArn"       -> view.stream.text,
    "streamName"      -> view.stream.name,
    "shardId"         -> view.shard.id,
    "parents"         -> ujson.Arr.from(view.shard.parents),
    "startingHashKey" -> view.shard.hashKeys.start.toString,
    "endingHashKey"   -> view.shard.hashKeys.end.toString,
    "open"            -> !view.shard.closed,
    "openedMillis"    -> number(view.openedMillis),
    "closedMillis"    -> number(view.closedMillis),
    "position"        -> view.position.fold[ujson.Value](ujson.Null)(p => ShardPosition.encode(p)),
    "millisBehind"    -> number(view.millisBehind)
  )

  private def number(value: Option[Long]): ujson.Value = value.fold[ujson.Value](ujson.Null)(n => ujson.Num(n.toDouble))
}
