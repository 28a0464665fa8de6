package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.ShardKey

/** Maps of all shards. Where the keys stay, a map keeps its shape, and none of ten thousand shards is hashed again. */
private[read] object ShardMaps {
  def collect[A, B](all: Map[ShardKey, A])(of: (ShardKey, A) => Option[B]): Map[ShardKey, B] = {
    var isWhole = true
    val some    = all.transform { (shard, value) =>
      val own = of(shard, value)
      isWhole &&= own.isDefined
      own
    }
    if (isWhole) some.transform((_, own) => own.get) else some.collect { case (shard, Some(own)) => shard -> own }
  }
}
