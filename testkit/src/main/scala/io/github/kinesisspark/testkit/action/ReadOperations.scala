package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.FaultEffect
import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Reply, Writer}

import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneOffset}
import java.util.Locale

/** GetShardIterator and GetRecords. */
private[testkit] object ReadOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map("GetShardIterator" -> iterator _, "GetRecords" -> records _)

  private def iterator(request: Request): Outcome = {
    val stream   = request.readyStream
    val shard    = stream.shard(request.fields.requiredText("ShardId")).fold(_.raise(), identity)
    val start    = StartingPosition.read(request, stream, shard, StartingPosition.OfIterator, request.fields)
    val position =
      shard.positionOf(start, request.now).getOrElse(stream.rateExceeded(shard.info.id).raise())
    val text = seal(request, stream, shard.info.id, position)
    Outcome(Reply.Members(_.text("ShardIterator", text)))
  }

  private def records(request: Request): Outcome = {
    val limit    = request.fields.int("Limit").fold(Quota.GetRecordsMaxRecords)(checkLimit(request, _))
    val iterator = ShardIterator
      .decode(request.fields.requiredText("ShardIterator"))
      .getOrElse(ServiceError.invalidArgument("Invalid ShardIterator.").raise())
    if (iterator.isExpired(request.now))
      ServiceError
        .expiredIterator(
          s"Iterator expired. The iterator was created at time ${amzTime(iterator.issuedAt)} while right now it is " +
            s"${amzTime(request.now)} which is further in the future than the tolerated delay of " +
            s"${Quota.IteratorMillis} milliseconds."
        )
        .raise()
    val stream = request.ready(request.streams.existing(iterator.stream))
    if (stream.createdAt != iterator.streamCreatedAt || stream.incarnation != iterator.incarnation)
      ServiceError.streamNotFound(stream.name, request.config.accountId).raise()
    val shard = stream.shard(iterator.shard).fold(_.raise(), identity)
    val read  = request.effects { case e: FaultEffect.EmptyAnswer => e }.headOption match {
      case Some((empty, _)) =>
        ShardStore.Read.Records(RecordLog.Slices.empty, Some(iterator.position), empty.millisBehindLatest)
      case None => shard.read(iterator.position, limit, request.now, stream.horizon)
    }
    read match {
      case ShardStore.Read.Throttled                     => stream.rateExceeded(iterator.shard).raise()
      case ShardStore.Read.Records(slices, next, behind) =>
        val others = (out: Writer) => {
          out.optional("NextShardIterator", next.map(seal(request, stream, iterator.shard, _)))
          out.number("MillisBehindLatest", behind)
          if (next.isEmpty) out.array("ChildShards")(stream.children(iterator.shard))(writeChild)
        }
        Outcome(Reply.Records(slices, others), slices.count)
    }
  }

  private def seal(request: Request, stream: Stream, shard: String, position: ReadPosition): String =
    ShardIterator(stream.name, stream.createdAt, stream.incarnation, shard, position, request.now).encode

  /** A child as the last answer of a closed shard shows it. */
  def writeChild(out: Writer, child: ShardInfo): Unit = {
    out.text("ShardId", child.id)
    out.texts("ParentShards", child.parents)
    ListShards.writeRange(out, child.range)
  }

  private def checkLimit(request: Request, limit: Int): Int =
    if (limit > Quota.GetRecordsMaxRecords)
      ServiceError
        .invalidArgument(
          s"Limit $limit used in GetRecords is greater than the maximum of ${Quota.GetRecordsMaxRecords}."
        )
        .raise()
    else request.bounded("limit", limit, 1, Quota.GetRecordsMaxRecords)

  private val AmzTime =
    DateTimeFormatter.ofPattern("EEE MMM dd HH:mm:ss 'UTC' yyyy", Locale.US).withZone(ZoneOffset.UTC)

  private def amzTime(millis: Long): String = AmzTime.format(Instant.ofEpochMilli(millis))
}
