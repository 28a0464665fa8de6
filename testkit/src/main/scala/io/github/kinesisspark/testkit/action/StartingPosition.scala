package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.model.ShardStore.StartingPoint
import io.github.kinesisspark.testkit.wire.Fields

/** Where reading is to begin, as GetShardIterator and SubscribeToShard say it: the same five ways, under other names. */
private[testkit] object StartingPosition {

  /** How a call names the members. */
  sealed abstract class Names(val call: String, val kind: String, val number: String)
  case object OfIterator     extends Names("GetShardIterator", "ShardIteratorType", "StartingSequenceNumber")
  case object OfSubscription extends Names("SubscribeToShard", "Type", "SequenceNumber")

  def read(request: Request, stream: Stream, shard: ShardStore, names: Names, fields: Fields): StartingPoint =
    fields.requiredText(names.kind) match {
      case "TRIM_HORIZON" => StartingPoint.TrimHorizon
      case "LATEST"       => StartingPoint.Latest
      case "AT_TIMESTAMP" =>
        val time = fields
          .time("Timestamp")
          .getOrElse(
            ServiceError
              .invalidArgument("Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP.")
              .raise()
          )
        ListShards.checkNotInFuture(request, time)
        StartingPoint.AtTime(time)
      case kind @ ("AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER") =>
        val text = fields
          .text(names.number)
          .getOrElse(
            ServiceError
              .invalidArgument(s"Must specify ${names.number} parameter for iterator of type $kind.")
              .raise()
          )
        numberOf(request, stream, shard, names, text) match {
          case None         => StartingPoint.TrimHorizon
          case Some(number) =>
            val ordinal = if (kind == "AT_SEQUENCE_NUMBER") number.ordinal else number.ordinal + 1
            StartingPoint.AtOrdinal(ordinal, number.arrivedAt * 1000)
        }
      case other =>
        ServiceError
          .validation(
            other,
            s"${names.kind.head.toLower}${names.kind.tail}",
            "Member must satisfy enum value set: [AFTER_SEQUENCE_NUMBER, LATEST, AT_TIMESTAMP, AT_SEQUENCE_NUMBER, " +
              "TRIM_HORIZON]"
          )
          .raise()
    }

  /** The position in the words of the call log: the type, and its sequence number or epoch milliseconds. */
  def describe(names: Names, fields: Fields): Option[String] = fields.text(names.kind).map { kind =>
    (kind +: (fields.text(names.number).toVector ++ fields.time("Timestamp").map(_.toString))).mkString(" ")
  }

  // None for 0, which is below every number. A number of another shard is refused; one that is trimmed is not.
  private def numberOf(
      request: Request,
      stream: Stream,
      shard: ShardStore,
      names: Names,
      text: String
  ): Option[SequenceNumber] = {
    if (!SequenceNumber.isWellFormed(text))
      ServiceError
        .validation(
          text,
          s"${names.number.head.toLower}${names.number.tail}",
          "Member must satisfy regular expression pattern: 0|([1-9]\\d{0,128})"
        )
        .raise()
    Option.when(text != "0") {
      SequenceNumber
        .parse(text)
        .filter(shard.owns)
        .getOrElse {
          ServiceError
            .invalidArgument(
              s"StartingSequenceNumber $text used in ${names.call} on shard ${shard.info.id} in stream ${stream.name} " +
                s"under account ${request.config.accountId} is invalid because it did not come from this stream."
            )
            .raise()
        }
    }
  }
}
