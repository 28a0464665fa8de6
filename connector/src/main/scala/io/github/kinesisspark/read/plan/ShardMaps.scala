package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardKey

/** Maps of all shards. Where the keys stay, a map keeps its shape, and none of ten thousand shards is hashed again. */
private[read] object ShardMaps {
  def collect[A, B](all: Map[ShardKey, A])(of: (ShardKey, A) => Option[B]): Map[ShardKey, B] = {
    var isWhole = true
    val some    = all.transform { (shard, value) =>
      val mine = of(shard, value)
      isWhole &&= mine.isDefined
      mine
    }
    if (isWhole) some.transform((_, mine) => mine.get) else some.collect { case (shard, Some(mine)) => shard -> mine }
  }
}
