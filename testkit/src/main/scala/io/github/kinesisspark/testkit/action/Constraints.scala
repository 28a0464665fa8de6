package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.model.ServiceError
import io.github.kinesisspark.testkit.wire.Fields

import java.util.regex.Pattern

/** What the service's model allows of members that mean the same in every call. Operations check their other members themselves.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/ the API reference, which has the constraints with each member]]
  */
private[testkit] object Constraints {

  /** The length of a text in characters, and its form. */
  final private case class Text(most: Int, pattern: Option[Pattern])

  private def text(most: Int, pattern: String = ""): Text =
    Text(most, Option.when(pattern.nonEmpty)(Pattern.compile(pattern)))

  private val Name           = text(128, "[a-zA-Z0-9_.-]+")
  private val HashKey        = text(39, "0|[1-9]\\d{0,38}")
  private val SequenceNumber = text(129, "0|[1-9]\\d{0,128}")

  private val Texts: Map[String, Text] = Map(
    "StreamName"               -> Name,
    "ExclusiveStartStreamName" -> Name,
    "StreamARN"                -> text(2048, "arn:aws.*:kinesis:.*:\\d{12}:stream/\\S+"),
    "ResourceARN"              -> text(2048, "arn:aws.*:kinesis:.*:\\d{12}:.*(stream|channel|queue)/\\S+"),
    "StreamId"                 -> text(24, "[a-z0-9]{20}-[a-z0-9]{3}"),
    "ConsumerName"             -> Name,
    "ConsumerARN"              -> text(
      2048,
      "arn:aws.*:kinesis:.*:\\d{12}:.*stream/[a-zA-Z0-9_.-]+/consumer/[a-zA-Z0-9_.-]+:[0-9]+"
    ),
    "ShardId"                   -> Name,
    "ExclusiveStartShardId"     -> Name,
    "ShardToSplit"              -> Name,
    "ShardToMerge"              -> Name,
    "AdjacentShardToMerge"      -> Name,
    "NewStartingHashKey"        -> HashKey,
    "SequenceNumber"            -> SequenceNumber,
    "StartingSequenceNumber"    -> SequenceNumber,
    "SequenceNumberForOrdering" -> SequenceNumber,
    "ShardIterator"             -> text(512),
    "NextToken"                 -> text(1024 * 1024),
    "ExclusiveStartTagKey"      -> text(128),
    "KeyId"                     -> text(2048)
  )

  /** Members that hold others of these. */
  private val Structures = Vector("StartingPosition", "ShardFilter")

  def check(fields: Fields): Unit = {
    Texts.foreach { case (name, constraint) => fields.text(name).foreach(checkText(name, _, constraint)) }
    fields.int("WarmThroughputMiBps").filter(_ < 0).foreach { value =>
      refuse(value.toString, "WarmThroughputMiBps", "Member must have value greater than or equal to 0")
    }
    Structures.flatMap(fields.structure(_)).foreach(check)
  }

  private def checkText(name: String, value: String, constraint: Text): Unit =
    if (value.isEmpty) refuse(value, name, "Member must have length greater than or equal to 1")
    else if (value.length > constraint.most)
      refuse(
        s"${value.take(constraint.most)}...",
        name,
        s"Member must have length less than or equal to ${constraint.most}"
      )
    else
      constraint.pattern
        .filterNot(_.matcher(value).matches)
        .foreach(p => refuse(value, name, s"Member must satisfy regular expression pattern: $p"))

  private def refuse(value: String, member: String, constraint: String): Nothing =
    ServiceError.validation(value, s"${member.head.toLower}${member.tail}", constraint).raise()
}
