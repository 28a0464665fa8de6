package io.github.kinesisspark.fuzz

import java.nio.charset.StandardCharsets.UTF_8

import io.github.kinesisspark.config.{PositionValue, StartingPosition}
import io.github.kinesisspark.position._

/** What users write as `startingPosition`, and ARNs and numbers in it: what is taken must be one that an offset can store. */
object PositionText extends Target {
  override val name = "position"

  override def check(input: Array[Byte]): Unit = {
    val text = new String(input, UTF_8)
    PositionValue.parse(text).foreach {
      case PositionValue.Same(position) => storable(position)
      case PositionValue.Each(streams)  => streams.values.foreach(storable)
    }
    for (arn <- StreamArn.parse(text)) Broken.unless(arn.text == text)(s"$arn is not $text")
    for (arn <- ConsumerArn.parse(text)) Broken.unless(arn.text == text)(s"$arn is not $text")
    for (key <- HashKey.parse(text)) Broken.unless(0 <= key && key <= HashKey.Last)(s"$key is no hash key")
  }

  private def storable(position: StartingPosition): Unit = position match {
    case StartingPosition.AtTimestamp(time) =>
      Broken.unless(time.toEpochMilli >= 0)(s"$time is before there was any stream")
    case StartingPosition.Shards(_, _, shards, _) =>
      for ((id, at) <- shards)
        Broken.unless(ShardPosition.decode(ShardPosition.encode(at)) == Right(at))(s"$id at $at changes on the way")
    case _ => ()
  }

  override def seeds: Seq[Array[Byte]] = Seq(
    "LATEST",
    "AT_TIMESTAMP:2026-01-31T08:00:00Z",
    "AT_TIMESTAMP:1700000000000",
    """{"orders":"TRIM_HORIZON","payments":{"shardId-000000000000":"AT_SEQUENCE_NUMBER:495903382714902566","shardId-000000000001":"AT_TIMESTAMP:2026-01-31T08:00:00+01:00"}}""",
    OffsetText.offset,
    "arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/app:1700000000"
  ).map(_.getBytes(UTF_8))
}
