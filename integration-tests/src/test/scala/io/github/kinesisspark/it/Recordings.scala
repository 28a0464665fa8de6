package io.github.kinesisspark.it

import java.time.LocalDate

/** What the service itself did when others called it, and published the answers. A conformance scenario asserts each.
  *
  * @param on   when it was last recorded
  * @param call the call
  * @param fact what the service did, as the predicate of a sentence about the call
  */
final case class Recording(on: LocalDate, call: String, fact: String)

/** Recordings by LocalStack's tests, which run on AWS as well and keep its answers as snapshots. Facts alone are taken from them: no text and no
  * code.
  *
  * @see [[https://github.com/localstack/localstack/tree/8b9a79f05846835cf4dff63ab7eefdde9df83783/tests/aws/services/kinesis LocalStack's tests of Kinesis]]
  */
object Recordings {
  val By: String = "LocalStack"

  val Source: String =
    "https://github.com/localstack/localstack/tree/8b9a79f05846835cf4dff63ab7eefdde9df83783/tests/aws/services/kinesis"

  val StreamWithoutName: Recording =
    Recording(LocalDate.of(2024, 6, 10), "CreateStream", "is refused with status 400 without a name")

  val StreamWithoutShardCount: Recording = Recording(
    LocalDate.of(2022, 8, 26),
    "CreateStream",
    "makes four open shards if neither a number of shards nor a mode is given"
  )

  val MissingStreamByArn: Recording = Recording(
    LocalDate.of(2025, 9, 16),
    "DescribeStream",
    "by the ARN of a stream that does not exist is refused with status 400 and ResourceNotFoundException"
  )

  val IteratorAtTheStart: Recording = Recording(
    LocalDate.of(2022, 8, 25),
    "GetShardIterator",
    "takes the shard's StartingSequenceNumber, which no record has, and its iterator returns every record put later"
  )

  val DataAsPut: Recording = Recording(
    LocalDate.of(2022, 8, 25),
    "GetRecords",
    "returns empty data, text beyond ASCII and 1,000 bytes as they were put"
  )

  val RecordWithoutEncryption: Recording = Recording(
    LocalDate.of(2022, 8, 25),
    "GetRecords",
    "returns records of a stream without encryption without an EncryptionType"
  )

  val IteratorTwice: Recording =
    Recording(LocalDate.of(2024, 7, 4), "GetRecords", "answers by the same iterator twice")

  val ListedConsumer: Recording = Recording(
    LocalDate.of(2022, 8, 26),
    "ListStreamConsumers",
    "returns name, ARN, status and time of creation of a consumer"
  )

  val DescribedConsumer: Recording = Recording(
    LocalDate.of(2022, 8, 26),
    "DescribeStreamConsumer",
    "by the stream's ARN and the consumer's returns the same, and the stream's ARN"
  )

  val EventAfterTheCall: Recording = Recording(
    LocalDate.of(2025, 8, 19),
    "SubscribeToShard",
    "from TRIM_HORIZON sends records of one PutRecords, put after the call, with a continuation and a lag of 0 ms"
  )

  val EventWithoutChildren: Recording = Recording(
    LocalDate.of(2025, 8, 19),
    "SubscribeToShard",
    "sends events of an open shard without ChildShards"
  )

  val EventWithoutEncryption: Recording = Recording(
    LocalDate.of(2025, 8, 19),
    "SubscribeToShard",
    "sends records of a stream without encryption without an EncryptionType"
  )

  val SubscriptionFromBeforeTheStream: Recording = Recording(
    LocalDate.of(2024, 6, 21),
    "SubscribeToShard",
    "from a time before the stream was made sends every record"
  )

  val SubscriptionAtTheStart: Recording = Recording(
    LocalDate.of(2022, 8, 26),
    "SubscribeToShard",
    "at the shard's StartingSequenceNumber, which no record has, sends every record"
  )

  /** In the order in which the documentation shows them. */
  val all: Seq[Recording] = Seq(
    StreamWithoutName,
    StreamWithoutShardCount,
    MissingStreamByArn,
    IteratorAtTheStart,
    DataAsPut,
    RecordWithoutEncryption,
    IteratorTwice,
    ListedConsumer,
    DescribedConsumer,
    EventAfterTheCall,
    EventWithoutChildren,
    EventWithoutEncryption,
    SubscriptionFromBeforeTheStream,
    SubscriptionAtTheStart
  )

  /** Differences that the service does not have, as a recording shows. */
  val refuted: Map[Difference, Recording] = Map(
    Differences.ChildrenInEveryEvent        -> EventWithoutChildren,
    Differences.EncryptionTypeOfUnencrypted -> RecordWithoutEncryption
  )

  /** What is recorded too, and is no promise of the suite, with the reason. */
  val leftOut: Seq[(String, String)] = Seq(
    "The message of ResourceNotFoundException" -> "A text; the suite asserts that it names the stream.",
    "Answers in CBOR: GetRecords as in JSON, StreamCreationTimestamp no fraction, PutRecord of bytes" ->
      "The suite calls by the SDK, which hides the encoding. The testkit's `WireSpec` compares both encodings.",
    "AddTagsToStream, ListTagsForStream, PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy" ->
      "The connector does not call them.",
    "NextShardIterator differs from the iterator; an iterator in quotation marks is accepted" -> "No date is published with them.",
    "A subscription ends in time" -> "LocalStack shortens its own; on AWS nothing is recorded.",
    "SubscribeToShard from a Lambda function by AWS SDK v2 for Java" -> "Every scenario of this suite calls by that SDK."
  )
}
