package io.github.kinesisspark.read.stream

import org.apache.spark.sql.connector.read.streaming.Offset

import io.github.kinesisspark.position.{KinesisOffset, OffsetJson}

/** Spark's face of a [[KinesisOffset]]. */
final case class KinesisSourceOffset(offset: KinesisOffset) extends Offset {
  override lazy val json: String = OffsetJson.write(offset)
}

/** A source's offsets as Spark has them. Spark writes every offset it gets and reads it again, several times a batch; at ten thousand shards the last
  * ones are worth remembering.
  */
private[read] final class SourceOffsets {
  import SourceOffsets._

  private var recent = Vector.empty[KinesisSourceOffset]

  def remember(offset: KinesisOffset): KinesisSourceOffset = {
    val made = KinesisSourceOffset(offset)
    recent = (made +: recent).take(Remembered)
    made
  }

  def read(json: String): KinesisSourceOffset = recent.find(_.json == json).getOrElse(remember(OffsetJson.read(json)))
}

private[read] object SourceOffsets {

  /** A batch's start and end, and those before. */
  private val Remembered = 4

  def of(offset: Offset): KinesisOffset = offset match {
    case KinesisSourceOffset(ours) => ours
    case other                     => OffsetJson.read(other.json)
  }
}
