package io.github.kinesisspark.it

/** Every known difference between a server and the service, and whose it is. `SERVERS.md` is this table in prose; a
  * conformance scenario asserts each, and fails when a server no longer has it; what shows only now and then is canceled there.
  */
object Differences {
  val NoRateLimits: Difference = Difference(
    "no-rate-limits",
    "It answers as many reads and writes as it can.",
    "Throttling cannot be tested against it."
  )

  val NoRecordCountLimit: Difference = Difference(
    "no-record-count-limit",
    "PutRecords takes more than 500 records, and none.",
    "A writer that sends too many at once is not found out."
  )

  val NoRequestSizeLimit: Difference = Difference(
    "no-request-size-limit",
    "PutRecords takes more than 10 MiB.",
    "A writer that sends too much at once is not found out."
  )

  val LargeRecordFailsAlone: Difference = Difference(
    "large-record-fails-alone",
    "PutRecords with one record that is too large fails that record and takes the others; the service refuses the call.",
    "An error that will always come again looks like one that is worth a retry."
  )

  val NoShardsIsALimit: Difference = Difference(
    "no-shards-is-a-limit",
    "CreateStream with 0 shards is a LimitExceededException, not a bad argument.",
    "The error's class says that trying later may help."
  )

  val NoStreamSummaries: Difference = Difference(
    "no-stream-summaries",
    "ListStreams gives names alone, without StreamSummaries.",
    "ARNs and states take a call for each stream."
  )

  val NoListStreamsToken: Difference = Difference(
    "no-list-streams-token",
    "ListStreams gives no NextToken, even where it has more streams.",
    "SDK paginators end after the first page; ExclusiveStartStreamName works."
  )

  val AtTrimHorizonGivesAll: Difference = Difference(
    "at-trim-horizon-gives-all",
    "ListShards with AT_TRIM_HORIZON gives every shard, children as well.",
    "Who takes that answer for where to start reads children beside their parents."
  )

  val IteratorTimesInSeconds: Difference = Difference(
    "iterator-times-in-seconds",
    "GetShardIterator with AT_TIMESTAMP drops the milliseconds of the time.",
    "A start in the middle of a second gives the records of the whole second."
  )

  val CrashesOnBadText: Difference = Difference(
    "crashes-on-bad-text",
    "An explicit hash key that is no number and an iterator that is none are answered with status 500.",
    "Clients retry what will never succeed."
  )

  val UnknownValueIsSerialization: Difference = Difference(
    "unknown-value-is-serialization",
    "An iterator type that does not exist is a SerializationException.",
    "The error code says less than the service's."
  )

  val TakesForeignNumbers: Difference = Difference(
    "takes-foreign-numbers",
    "GetShardIterator and SubscribeToShard take a sequence number that belongs to another shard.",
    "Positions mixed up between shards are not found out."
  )

  val SameNumberTwice: Difference = Difference(
    "same-number-twice",
    "Two records put one right after the other can get the same sequence number.",
    "A reader that resumes after the first of them never sees the second."
  )

  val RepeatsTheFirstRecord: Difference = Difference(
    "repeats-the-first-record",
    "An iterator that points after a shard's first record can give that record again, and again.",
    "A reader has to drop what is not past its position, or it reads the record without end."
  )

  val LagIsToTheLastRecord: Difference = Difference(
    "lag-is-to-the-last-record",
    "MillisBehindLatest is the time between the records given and the last one in the shard, not the present.",
    "Lag stays small however late a reader is."
  )

  val EndsAtLongMax: Difference = Difference(
    "ends-at-long-max",
    "A closed shard's EndingSequenceNumber is 9223372036854775807, which is less than any of its records' numbers.",
    "The shard's range does not show whether a position is at the end."
  )

  val SplitsOffNothing: Difference = Difference(
    "splits-off-nothing",
    "SplitShard takes the hash key the shard starts with, and makes a child whose range ends before it starts.",
    "Hash ranges may be empty."
  )

  val UnequalRanges: Difference = Difference(
    "unequal-ranges",
    "UpdateShardCount splits or merges some shards only, where all would have to change for equal ranges.",
    "There are no shards that live only for a moment, and ranges are unequal after it."
  )

  val ReshardsOnDemand: Difference = Difference(
    "reshards-on-demand",
    "UpdateShardCount takes a stream in on-demand mode; the service refuses the call.",
    "A program that scales a stream which scales itself is not found out."
  )

  val NoInitialResponse: Difference = Difference(
    "no-initial-response",
    "A subscription's first message is an event, without the initial response before it.",
    "The SDK never calls a handler's onResponse."
  )

  val ContinuationLags: Difference = Difference(
    "continuation-lags",
    "An event's ContinuationSequenceNumber is where its records begin, not where they end.",
    "A reader that subscribes again after it gets the last event's records once more."
  )

  val ChildrenInEveryEvent: Difference = Difference(
    "children-in-every-event",
    "Every event has ChildShards, an empty list.",
    "Neither children nor their absence alone show the end of a shard."
  )

  val EncryptionTypeOfUnencrypted: Difference = Difference(
    "encryption-type-of-unencrypted",
    "Records of a stream without encryption have the EncryptionType NONE, where the service leaves it out.",
    "A reader that needs the member is not found out."
  )

  val ShardEndNotReported: Difference = Difference(
    "shard-end-not-reported",
    "A subscription to a closed shard stays open, with empty events that have a continuation and no children.",
    "That a shard has ended must be found out otherwise."
  )

  val ShardEndsUnsaid: Difference = Difference(
    "shard-ends-unsaid",
    "A subscription to a closed shard completes, but no event has children without a continuation.",
    "The end looks like that of any subscription whose time is over."
  )

  val NeverInUse: Difference = Difference(
    "never-in-use",
    "A second subscription of a consumer to a shard is not refused within five seconds of the first.",
    "A reader that subscribes too soon is not found out."
  )

  val StaysInUse: Difference = Difference(
    "stays-in-use",
    "A second subscription of a consumer to a shard is refused for as long as the first one lives.",
    "A reader that lost its subscription unnoticed waits for up to five minutes."
  )

  val IdlePositionIsNone: Difference = Difference(
    "idle-position-is-none",
    "On an idle shard the continuation is 0, and a call that begins after it is answered with status 500.",
    "A position that was received on an idle shard is of no use."
  )

  val NoTakeover: Difference = Difference(
    "no-takeover",
    "A second subscription of a consumer to a shard, five seconds after the first, does not end it: both receive everything.",
    "A reader that forgets a subscription is not found out."
  )

  val OutlivesItsConsumer: Difference = Difference(
    "outlives-its-consumer",
    "A subscription continues when its consumer has been deregistered.",
    "That a consumer was taken away under a reader cannot be tested against it."
  )

  val SubscribesToNothing: Difference = Difference(
    "subscribes-to-nothing",
    "SubscribeToShard accepts a shard that does not exist, and sends empty events of it.",
    "A shard that is gone looks like an idle one."
  )

  val SubscribesFromAnyText: Difference = Difference(
    "subscribes-from-any-text",
    "SubscribeToShard takes what is no sequence number for the beginning of the shard.",
    "A position that was spoilt is not found out."
  )

  val CrashesOnSubscribing: Difference = Difference(
    "crashes-on-subscribing",
    "SubscribeToShard with a consumer or a shard that does not exist, or with what is no sequence number, is answered with status 500.",
    "Clients retry what will never succeed."
  )

  /** In the order in which the documentation shows them. */
  val all: Seq[Difference] = Seq(
    NoRateLimits,
    NoRecordCountLimit,
    NoRequestSizeLimit,
    LargeRecordFailsAlone,
    NoShardsIsALimit,
    NoStreamSummaries,
    NoListStreamsToken,
    AtTrimHorizonGivesAll,
    IteratorTimesInSeconds,
    CrashesOnBadText,
    UnknownValueIsSerialization,
    TakesForeignNumbers,
    SameNumberTwice,
    RepeatsTheFirstRecord,
    LagIsToTheLastRecord,
    EndsAtLongMax,
    SplitsOffNothing,
    UnequalRanges,
    ReshardsOnDemand,
    NoInitialResponse,
    ContinuationLags,
    ChildrenInEveryEvent,
    EncryptionTypeOfUnencrypted,
    ShardEndNotReported,
    ShardEndsUnsaid,
    IdlePositionIsNone,
    NeverInUse,
    StaysInUse,
    NoTakeover,
    OutlivesItsConsumer,
    SubscribesToNothing,
    SubscribesFromAnyText,
    CrashesOnSubscribing
  )

  // LocalStack answers SubscribeToShard itself, by polling what is behind it.
  private val onlyOfLocalStack: Set[Difference] = Set(
    SameNumberTwice,
    RepeatsTheFirstRecord,
    IteratorTimesInSeconds,
    ContinuationLags,
    ChildrenInEveryEvent,
    ShardEndsUnsaid,
    IdlePositionIsNone,
    NeverInUse,
    NoTakeover,
    CrashesOnSubscribing
  )

  private val onlyOfKinesisLocal: Set[Difference] = Set(
    LargeRecordFailsAlone,
    NoInitialResponse,
    ShardEndNotReported,
    StaysInUse,
    SubscribesToNothing,
    SubscribesFromAnyText
  )

  /** kinesis-mock 0.6.2. */
  val ofKinesisLocal: Set[Difference] = all.toSet -- onlyOfLocalStack

  /** kinesis-mock 0.4.9 behind LocalStack 4.4.0. */
  val ofLocalStack: Set[Difference] = all.toSet -- onlyOfKinesisLocal
}
