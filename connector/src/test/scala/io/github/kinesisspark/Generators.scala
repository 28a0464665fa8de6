package io.github.kinesisspark

import org.scalacheck.Gen

import io.github.kinesisspark.position._
import io.github.kinesisspark.read.plan.{ArrivalDensity, Boundaries, BoundarySpacing, ReaderStatus}
import io.github.kinesisspark.read.reader.{KinesisRecord, RecordBuffer, RecordTotals}
import io.github.kinesisspark.position.ShardPosition._

/** Values of the service's forms, for property tests. */
object Generators {
  val stream: StreamArn = StreamArn("arn:aws:kinesis:us-east-1:000000000000:stream/events")

  def shardId(n: Int): String         = f"shardId-$n%012d"
  def shard(n: Int): ShardKey         = ShardKey(stream, shardId(n))
  def number(n: Long): SequenceNumber = SequenceNumber(s"49${"0" * 34}${"%020d".format(n)}")

  /** To mix in, because ScalaTest's Matchers have an `after` that would hide an imported one. */
  trait AfterNumbers {
    protected def after(n: Long): AfterSequenceNumber = AfterSequenceNumber(number(n))
  }

  def heapOf(records: KinesisRecord*): Long = RecordTotals.of(records.toArray).heap

  /** Of a reader that has read nothing and has no answer. */
  def emptyStatus(shard: ShardKey): ReaderStatus = ReaderStatus(
    shard,
    base = TrimHorizon,
    first = None,
    position = TrimHorizon,
    boundaries = Boundaries.none(BoundarySpacing.none),
    records = 0,
    bytes = 0,
    heap = 0,
    room = 0,
    isFull = false,
    oldestArrival = None,
    newestArrival = None,
    reached = None,
    density = ArrivalDensity.unknown,
    starved = false,
    isComplete = false,
    millisBehind = None,
    millisSinceAnswer = None,
    openingMillis = None,
    isOnItsWay = false,
    failure = None,
    children = Vector.empty
  )

  /** Of a reader that holds what a buffer has, by the buffer alone. */
  def statusOf(shard: ShardKey, buffer: RecordBuffer, spacing: BoundarySpacing): ReaderStatus = emptyStatus(shard).copy(
    base = buffer.base,
    position = buffer.tip,
    boundaries = buffer.boundaries(spacing),
    records = buffer.records,
    bytes = buffer.bytes,
    heap = buffer.heap,
    oldestArrival = buffer.oldestArrival,
    newestArrival = buffer.newestArrival
  )

  val seeds: Gen[Long] = Gen.choose(Long.MinValue, Long.MaxValue)

  val sequenceNumbers: Gen[SequenceNumber] = for {
    digits <- Gen.choose(1, 60)
    first  <- Gen.choose(1, 9)
    rest   <- Gen.listOfN(digits - 1, Gen.choose(0, 9))
  } yield SequenceNumber((first :: rest).mkString)

  val positions: Gen[ShardPosition] = Gen.oneOf(
    Gen.const(TrimHorizon),
    Gen.const(ShardEnd),
    Gen.choose(0L, 4000000000000L).map(AtTimestamp(_)),
    sequenceNumbers.map(AtSequenceNumber(_)),
    sequenceNumbers.map(AfterSequenceNumber(_)),
    Gen.zip(sequenceNumbers, Gen.choose(0L, 100000L)).map { case (number, place) => Within(number, place) }
  )

  val progress: Gen[ShardProgress] = for {
    position      <- positions
    firstPosition <- Gen.option(positions)
  } yield ShardProgress(position, firstPosition)

  val streamArns: Gen[StreamArn] =
    Gen.identifier.map(name => StreamArn(s"arn:aws:kinesis:eu-west-1:123456789012:stream/${name.take(60)}"))

  val offsets: Gen[KinesisOffset] = {
    val streams = for {
      created <- Gen.choose(0L, 4000000000000L)
      shards  <- Gen.mapOf(Gen.zip(Gen.choose(0, 9999).map(shardId), progress))
      to      <- Gen.option(Gen.zip(Gen.choose(0L, 4000000000000L), Gen.option(Gen.choose(24L, 8760L))))
    } yield StreamOffset(created, shards).copy(completeTo = to.map { case (millis, hours) =>
      CompleteTo(millis, hours)
    })
    Gen.zip(Gen.mapOf(Gen.zip(streamArns, streams)), Gen.oneOf(0, 0, 3)).map { case (all, idle) =>
      KinesisOffset(all, idle)
    }
  }
}
