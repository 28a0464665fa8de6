package io.github.kinesisspark.testkit.model

/** The service's quotas, in one place. Sources: "Quotas and limits" of the Kinesis developer guide and the API reference. */
object Quota {
  private val MiB = 1024 * 1024

  val GetRecordsCallsPerShard: Long       = 5
  val GetRecordsBytesPerShard: Long       = 2L * MiB
  val GetShardIteratorCallsPerShard: Long = 5
  val SubscribeCallsPerShard: Long        = 1
  val SubscriptionBytesPerShard: Long     = 2L * MiB
  val WriteRecordsPerShard: Long          = 1000
  val WriteBytesPerShard: Long            = 1L * MiB
  val ListShardsCallsPerStream: Long      = 1000
  val GetRecordsMaxRecords: Int           = 10000
  val GetRecordsMaxBytes: Int             = 10 * MiB
  val PutRecordsMaxRecords: Int           = 500
  val PutRecordsMaxBytes: Long            = 10L * MiB
  val MinRecordKiB: Int                   = 1024
  val MaxRecordKiB: Int                   = 10240
  val IteratorMillis: Long                = 5 * 60 * 1000
  val NextTokenMillis: Long               = 300 * 1000
  val MinRetentionHours: Int              = 24
  val MaxRetentionHours: Int              = 8760
  val PageMaxAsked: Int                   = 10000
  val ListShardsPage: Int                 = 1000
  val DescribeStreamPage: Int             = 100
  val ListStreamsPage: Int                = 100
  val ListConsumersPage: Int              = 100
  val ConsumersPerStream: Int             = 20
  val ConsumersCreating: Int              = 5
  val TagsPerResource: Int                = 50
  val ModeChangesPerDay: Int              = 2
  val NewKeysPerDay: Int                  = 25
  val ShardCountUpdatesPerDay: Int        = 10

  /** Calls a second of the account as a whole, for the calls that have such a quota. */
  val AccountCalls: Map[String, Long] = Map(
    "CreateStream"                  -> 5L,
    "DeleteStream"                  -> 5L,
    "DescribeStream"                -> 10L,
    "DescribeStreamSummary"         -> 20L,
    "ListStreams"                   -> 5L,
    "SplitShard"                    -> 5L,
    "MergeShards"                   -> 5L,
    "UpdateShardCount"              -> 10L,
    "RegisterStreamConsumer"        -> 5L,
    "DescribeLimits"                -> 1L,
    "IncreaseStreamRetentionPeriod" -> 5L,
    "DecreaseStreamRetentionPeriod" -> 5L,
    "StartStreamEncryption"         -> 5L,
    "StopStreamEncryption"          -> 5L,
    "EnableEnhancedMonitoring"      -> 5L,
    "DisableEnhancedMonitoring"     -> 5L,
    "AddTagsToStream"               -> 5L,
    "RemoveTagsFromStream"          -> 5L,
    "ListTagsForStream"             -> 5L,
    "TagResource"                   -> 5L,
    "UntagResource"                 -> 5L,
    "ListTagsForResource"           -> 5L,
    "PutResourcePolicy"             -> 5L,
    "GetResourcePolicy"             -> 5L,
    "DeleteResourcePolicy"          -> 5L
  )

  /** Calls a second of each stream, for the calls that have such a quota. ListShards takes its calls itself. */
  val StreamCalls: Map[String, Long] = Map(
    "DeregisterStreamConsumer" -> 5L,
    "DescribeStreamConsumer"   -> 20L,
    "ListStreamConsumers"      -> 5L
  )
}
