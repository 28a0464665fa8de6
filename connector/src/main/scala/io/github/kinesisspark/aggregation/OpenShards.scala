package io.github.kinesisspark.aggregation

import scala.collection.immutable.TreeMap

import io.github.kinesisspark.position.{HashKeyRange, Shard}

/** Which shard takes which hash keys in. While a stream is resharded, it may be that none is known for some. Not thread-safe.
  *
  * @param listed those that are closed take nothing in and don't count
  */
private[aggregation] final class OpenShards(listed: Iterable[Shard]) {
  private val shards =
    TreeMap(listed.iterator.filterNot(_.closed).map(s => s.hashKeys.start -> s).toSeq: _*).valuesIterator.toArray
  private val starts = new HashKeys(shards.map(_.hashKeys.start))
  private val ends   = new HashKeys(shards.map(_.hashKeys.end))
  private val isOne  = shards.length == 1 && shards.head.hashKeys == HashKeyRange.all
  private val hash   = new RecordHash

  def size: Int = shards.length

  def apply(place: Int): Shard = shards(place)

  /** The place of the shard that a record belongs to; negative where none is known.
    *
    * @param partitionKey the record's, in UTF-8
    */
  def placeOf(record: Packable, partitionKey: Array[Byte]): Int =
    if (isOne) 0
    else {
      hash.read(record, partitionKey)
      val place = starts.lastUpTo(hash)
      if (place >= 0 && ends.compare(place, hash) >= 0) place else -1
    }
}
