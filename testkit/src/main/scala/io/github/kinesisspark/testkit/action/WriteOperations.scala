package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.{FaultEffect, FaultRule}
import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.{Fields, Reply, Writer}

import java.nio.charset.StandardCharsets.UTF_8

/** PutRecord and PutRecords. */
private[testkit] object WriteOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map("PutRecord" -> putOne _, "PutRecords" -> putMany _)

  /** A record to put, checked, with the hash key that decides its shard. */
  final private case class Entry(key: Option[String], hashKey: BigInt, data: Array[Byte], size: Int)

  private def putOne(request: Request): Outcome = {
    val stream = request.readyStream
    request.fields.text("SequenceNumberForOrdering").filterNot(SequenceNumber.isWellFormed).foreach { number =>
      ServiceError.invalidArgument(s"ExclusiveMinimumSequenceNumber $number used in PutRecord is invalid.").raise()
    }
    if (isAuto(stream) && request.fields.text("SequenceNumberForOrdering").nonEmpty)
      ServiceError
        .invalidArgument(
          s"SequenceNumberForOrdering is not supported for stream ${stream.name}, which distributes records itself."
        )
        .raise()
    val entry  = entryOf(request.fields, stream, "")
    val placed = put(stream, entry).fold(_.raise(), identity)
    Outcome(
      Reply.Members { out =>
        out.text("ShardId", placed.shardId)
        out.text("SequenceNumber", placed.sequenceNumber)
        writeEncryption(out, stream)
      },
      1,
      Set(placed.shardId)
    )
  }

  private def putMany(request: Request): Outcome = {
    val stream  = request.readyStream
    val members = request.fields.required("Records")(request.fields.list("Records"))
    if (members.isEmpty) wrongCount("greater than or equal to 1")
    if (members.size > Quota.PutRecordsMaxRecords) wrongCount(s"less than or equal to ${Quota.PutRecordsMaxRecords}")
    val entries = members.zipWithIndex.map { case (m, i) => entryOf(m, stream, s"records.${i + 1}.member.") }
    val bytes   = entries.iterator.map(_.size.toLong).sum
    val most    = request.config.putRecordsBytes
    if (bytes > most)
      ServiceError
        .invalidArgument(s"Records size $bytes bytes exceeds the $most bytes limit of a request.")
        .raise()
    val refused = refusals(request, stream, entries)
    // Stored in the stream's order, answered in the request's.
    val results = stream
      .storingOrder(entries.size)
      .map(i => i -> refused(i).fold(put(stream, entries(i)))(Left(_)))
      .sortBy(_._1)
      .map(_._2)
    Outcome(
      Reply.Members { out =>
        out.number("FailedRecordCount", results.count(_.isLeft))
        out.array("Records")(results) {
          case (item, Right(placed)) =>
            item.text("SequenceNumber", placed.sequenceNumber)
            item.text("ShardId", placed.shardId)
          case (item, Left(error)) =>
            item.text("ErrorCode", error.code)
            item.text("ErrorMessage", error.message)
        }
        writeEncryption(out, stream)
      },
      results.count(_.isRight),
      results.collect { case Right(placed) => placed.shardId }.toSet
    )
  }

  /** The shards that a PutRecord or PutRecords would go to, for fault rules that name one. */
  def shardsOf(fields: Fields, stream: Stream): Set[String] =
    fields.list("Records").getOrElse(Vector(fields)).flatMap(hashKeyOf(_).toOption).map(stream.map.route(_).id).toSet

  private def writeEncryption(out: Writer, stream: Stream): Unit =
    if (stream.settings.encryptionKey.isDefined) out.text("EncryptionType", StreamOperations.Kms)

  private def put(stream: Stream, entry: Entry): Either[ServiceError, Placed] =
    stream.put(entry.hashKey, entry.key, entry.data, metered = true)

  // Who distributes records: the stream, or their keys.
  private def isAuto(stream: Stream): Boolean = stream.settings.distribution == RecordDistribution.Auto

  private def refusals(request: Request, stream: Stream, entries: Vector[Entry]): Vector[Option[ServiceError]] = {
    val rules = request.effects { case e: FaultEffect.RefuseEntries => e }
    if (rules.isEmpty) entries.map(_ => None)
    else {
      val shards = entries.map(e => stream.map.route(e.hashKey).id)
      val byRule = rules.map { case (effect, strike) => (effect, FaultRule.refused(effect.share, strike, shards)) }
      shards.zipWithIndex.map { case (shard, i) =>
        byRule.collectFirst { case (effect, refused) if refused(i) => refusal(effect.code, shard, stream) }
      }
    }
  }

  private def refusal(code: String, shard: String, stream: Stream): ServiceError = {
    val natural = stream.rateExceeded(shard)
    if (code == natural.code) natural else ServiceError(code, "Internal service failure.")
  }

  private def entryOf(fields: Fields, stream: Stream, path: String): Entry = {
    val key = fields.text("PartitionKey")
    if (key.isEmpty && !isAuto(stream)) ServiceError.missing(s"${path}partitionKey").raise()
    val data = fields.blob("Data").getOrElse(ServiceError.missing(s"${path}data").raise())
    key.foreach(checkKey(_, path))
    val size = data.length + key.fold(0)(_.getBytes(UTF_8).length)
    val max  = stream.settings.maxRecordKiB * 1024
    if (size > max)
      ServiceError
        .validation(
          s"java.nio.HeapByteBuffer[pos=0 lim=${data.length} cap=${data.length}]",
          s"${path}data",
          s"Member must have length less than or equal to $max"
        )
        .raise()
    val hashKey = if (isAuto(stream)) stream.nextHashKey() else hashKeyOf(fields).fold(_.raise(), identity)
    Entry(key, hashKey, data, size)
  }

  private def checkKey(key: String, path: String): Unit =
    if (key.isEmpty || key.codePointCount(0, key.length) > MaxKeyLength)
      ServiceError
        .validation(
          key,
          s"${path}partitionKey",
          if (key.isEmpty) "Member must have length greater than or equal to 1"
          else s"Member must have length less than or equal to $MaxKeyLength"
        )
        .raise()

  private def hashKeyOf(fields: Fields): Either[ServiceError, BigInt] = fields.text("ExplicitHashKey") match {
    case None       => fields.text("PartitionKey").map(HashKey.of).toRight(ServiceError.missing("partitionKey"))
    case Some(text) =>
      HashKey
        .parse(text)
        .toRight(
          ServiceError.invalidArgument(
            s"Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was $text"
          )
        )
  }

  private def wrongCount(constraint: String): Nothing =
    ServiceError.validation("[...]", "records", s"Member must have length $constraint").raise()

  private val MaxKeyLength = 256
}
