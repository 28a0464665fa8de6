package io.github.kinesisspark.aggregation

import java.nio.charset.StandardCharsets.UTF_8

import io.github.kinesisspark.position.Shard

/** Packs user records into Kinesis records, only those together that belong to one shard: readers drop what a shard has no
  * business with. Mutable, for one owner: each step returns what is to be put now.
  *
  * Records of one shard keep their order, and so do those of one partition key. A record that no shard is known for, or that
  * is larger than the limit, is put by itself.
  *
  * {{{
  * val full = aggregator.add(record)
  * val last = aggregator.flush()
  * }}}
  *
  * @param shards   the stream's; those that are closed take nothing in and don't count
  * @param maxBytes of an aggregated record's data and partition key
  */
final class Aggregator[R <: Packable](shards: Iterable[Shard], maxBytes: Int) {
  private val open       = new OpenShards(shards)
  private val maxPayload = maxBytes - KinesisPut.PartitionKey.length

  /** By place; none where nothing waits. */
  private val growing = new Array[AggregatedRecord[R]](open.size)
  private var weight  = 0L

  /** What the records that grow take in memory, without the user records that they are made of. */
  def heldBytes: Long = weight

  def add(record: R): Vector[KinesisPut[R]] = {
    val key   = record.partitionKey.getBytes(UTF_8)
    val place = open.placeOf(record, key)
    if (place < 0) Vector(KinesisPut.of(record, None))
    else {
      val shard = open(place)
      if (addAt(place, record, key)) Vector.empty
      else {
        val its = takenAt(place, shard)
        if (addAt(place, record, key)) its
        else its :+ KinesisPut.of(record, Some(shard))
      }
    }
  }

  def flush(): Vector[KinesisPut[R]] = {
    val puts  = Vector.newBuilder[KinesisPut[R]]
    var place = 0
    while (place < growing.length) {
      puts ++= takenAt(place, open(place))
      place += 1
    }
    puts.result()
  }

  private def addAt(place: Int, record: R, key: Array[Byte]) = {
    val before  = growing(place)
    val its     = if (before == null) new AggregatedRecord[R] else before
    val had     = if (before == null) 0L else before.weight
    val isAdded = its.addUpTo(maxPayload, record, key)
    if (isAdded) {
      growing(place) = its
      weight += its.weight - had
    }
    isAdded
  }

  private def takenAt(place: Int, shard: Shard): Vector[KinesisPut[R]] = {
    val its = Option(growing(place))
    growing(place) = null
    its.foreach(weight -= _.weight)
    its.fold(Vector.empty[KinesisPut[R]])(KinesisPut.flushed(_, shard))
  }
}
