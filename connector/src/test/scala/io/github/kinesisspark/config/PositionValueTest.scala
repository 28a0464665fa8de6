package io.github.kinesisspark.config

import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._

class PositionValueTest extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val noon = StartingPosition.AtTimestamp(Instant.parse("2026-01-31T12:00:00Z"))

  private def refusal(text: String): String = PositionValue.parse(text).fold(identity, read => fail(s"read as $read"))

  private def shards(positions: (String, ShardPosition)*) = StartingPosition.Shards(None, None, positions.toMap)

  test("positions are parsed from keywords in any case, times with an offset and epoch milliseconds") {
    val expected = Seq(
      "LATEST"                                 -> StartingPosition.Latest,
      "latest"                                 -> StartingPosition.Latest,
      "Trim_Horizon"                           -> StartingPosition.TrimHorizon,
      "AT_TIMESTAMP:2026-01-31T12:00:00Z"      -> noon,
      "at_timestamp:2026-01-31T14:00:00+02:00" -> noon,
      "AT_TIMESTAMP: 2026-01-31T12:00:00.000Z" -> noon,
      "AT_TIMESTAMP:1769860800000"             -> noon,
      "AT_TIMESTAMP:0"                         -> StartingPosition.AtTimestamp(Instant.EPOCH)
    )
    for ((text, position) <- expected) assert(PositionValue.parse(text) == Right(PositionValue.Same(position)), text)
  }

  test("a timestamp without an offset, before 1970 or malformed is refused") {
    for (time <- Seq("2026-01-31T12:00:00", "2026-01-31", "12:00", "-1", "", "now", "1969-01-01T00:00:00Z")) {
      assert(PositionValue.parse(s"AT_TIMESTAMP:$time").isLeft, time)
      assert(PositionValue.parse(s"""{"orders":{"shardId-000000000000":"AT_TIMESTAMP:$time"}}""").isLeft, time)
    }
  }

  test("JSON positions are parsed per stream and per shard") {
    val json =
      """{"orders":"TRIM_HORIZON", "payments":{"shardId-000000000000":"42", "shardId-000000000001":"AT_SEQUENCE_NUMBER:7",
      "shardId-000000000002":"AT_TIMESTAMP:2026-01-31T12:00:00Z", "shardId-000000000003":"SHARD_END"}}"""
    val expected = PositionValue.Each(
      Map(
        "orders"   -> StartingPosition.TrimHorizon,
        "payments" -> shards(
          "shardId-000000000000" -> AfterSequenceNumber(SequenceNumber("42")),
          "shardId-000000000001" -> AtSequenceNumber(SequenceNumber("7")),
          "shardId-000000000002" -> AtTimestamp(noon.time.toEpochMilli),
          "shardId-000000000003" -> ShardEnd
        )
      )
    )
    assert(PositionValue.parse(json) == Right(expected))
  }

  test("the JSON of every offset is a valid position that keeps what it says of each stream") {
    forAll(offsets) { offset =>
      val expected = offset.streams.map { case (arn, stream) =>
        val positions = stream.shards.iterator.map { case (id, progress) => id -> progress.position }.toMap
        arn.text -> StartingPosition.Shards(Some(arn), Some(stream.createdMillis), positions, stream.completeTo)
      }
      assert(PositionValue.parse(OffsetJson.write(offset)) == Right(PositionValue.Each(expected)))
    }
  }

  test("invalid positions are refused with the stream, shard or version at fault") {
    assert(refusal("""{"orders":{"shardId-000000000000":"LATEST"}}""").contains("'shardId-000000000000' of 'orders'"))
    assert(refusal("""{"orders":{"shardId-000000000000":7}}""").contains("must be a text"))
    assert(refusal("""{"orders":{}}""").contains("'orders' must be LATEST"))
    assert(refusal("""{"orders":"EARLIEST"}""").contains("'orders' must be LATEST"))
    assert(refusal("""{"orders":""").contains("can't be read"))
    assert(refusal("""{"version":99,"streams":{}}""").contains("version 99"))
    assert(refusal("EARLIEST").contains("LATEST, TRIM_HORIZON"))
  }
}
