package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.{KinesisOffset, ShardKey}

/** What a planning has found, for observers that have no part in it.
  *
  * @param open     shards that are read
  * @param reached  how far they are read, whether or not a limit let it into a batch
  * @param statuses of their readers; None where no executor reads ahead
  * @param cuts     where the batch ends, if there is one
  */
final case class PlanningResult(
    open: Iterable[ShardKey],
    reached: KinesisOffset,
    statuses: Option[Map[ShardKey, ReaderStatus]],
    cuts: Map[ShardKey, CutPoint]
)
