package io.github.kinesisspark.read.shard

import io.github.kinesisspark.position.{ShardKey, ShardPosition}

/** What the driver asks of one executor before it plans a batch: "read these shards, and tell how far you are". It comes
  * as a task of a small Spark job; there is no other channel between driver and readers.
  *
  * @param executorId    whom it is for; a task that Spark ran elsewhere answers nothing
  * @param shards        all that this executor is to read, each from where the next batch starts; others are closed
  * @param sinceMillis   how long ago the driver began to ask: older answers of the service don't tell what is there now
  * @param waitMillis    how long to wait for news where there are none
  * @param leaseMillis   how long the readers go on without hearing from the driver
  */
final case class ProbeRequest(
    executorId: String,
    config: ReaderConfig,
    shards: Vector[(ShardKey, ShardPosition)],
    sinceMillis: Long,
    waitMillis: Long,
    leaseMillis: Long
)

/** @param settled       every shard has something, has ended, or had nothing more after the driver began to ask
  * @param opened        every shard has been answered by the service at least once
  * @param bufferedBytes of heap, in this executor
  * @param rereadBytes   read again by tasks that found no buffer, since the readers were opened
  */
final case class ProbeAnswer(
    tips: Vector[ShardTip],
    settled: Boolean,
    opened: Boolean,
    bufferedBytes: Long,
    rereadBytes: Long,
    rereadRecords: Long
)

/** Where to end inside of what the readers hold, when a limit does not let all of it in. */
final case class CutRequest(
    executorId: String,
    source: String,
    shards: Vector[(ShardKey, Long, Long)]
)

final case class CutAnswer(cuts: Vector[(ShardKey, RecordBuffer.Cut)])
