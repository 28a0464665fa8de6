package io.github.kinesisspark.aggregation

import scala.collection.immutable.{SortedMap, TreeMap}

import io.github.kinesisspark.aggregation.Aggregator._
import io.github.kinesisspark.position.Shard

/** Packs user records into Kinesis records, only those together that belong to one shard: readers drop what a shard has no
  * business with. Immutable: every step gives the next aggregator, and what is to be put now.
  *
  * Records of one shard keep their order, and so do those of one partition key. A record that no shard is known for, or that
  * is larger than the limit, is put by itself.
  *
  * {{{
  * val (next, full) = aggregator.add(record)
  * val (empty, last) = next.flush
  * }}}
  */
final class Aggregator[R <: Packable] private (
    shards: OpenShards,
    limits: Limits,
    growing: SortedMap[String, Growing[R]]
) {

  /** What waits to be put, in bytes of payload. */
  def pendingBytes: Long = growing.valuesIterator.map(_.record.bytes.toLong).sum

  def add(record: R): (Aggregator[R], Vector[KinesisPut[R]]) = shards.of(record.hashKey) match {
    case None        => (this, Vector(KinesisPut.of(record, None)))
    case Some(shard) =>
      val before = growing.get(shard.id)
      val grown  = before.fold(AggregatedRecord.empty[R])(_.record).add(record)
      if (limits.allow(grown)) settle(Growing(shard, grown))
      else
        before match {
          case None       => (this, Vector(KinesisPut.of(record, Some(shard))))
          case Some(full) =>
            val (next, more) = without(shard).add(record)
            (next, full.put +: more)
        }
  }

  /** Puts whatever waits. */
  def flush: (Aggregator[R], Vector[KinesisPut[R]]) =
    (Aggregator.nothingIn(shards, limits), growing.valuesIterator.map(_.put).toVector)

  /** After a reshard: what waits is planned anew. A record that was put by the old plan may have come into another shard than
    * thought, see [[KinesisPut.toPutAgain]].
    *
    * @param listed the stream's shards; those that are closed take nothing in and don't count
    */
  def resharded(listed: Iterable[Shard]): (Aggregator[R], Vector[KinesisPut[R]]) = {
    val fresh = Aggregator[R](listed, limits)
    growing.valuesIterator.flatMap(_.record.records).foldLeft((fresh, Vector.empty[KinesisPut[R]])) {
      case ((aggregator, puts), record) =>
        val (next, more) = aggregator.add(record)
        (next, puts ++ more)
    }
  }

  private def settle(grown: Growing[R]): (Aggregator[R], Vector[KinesisPut[R]]) =
    if (grown.record.records.sizeIs < limits.maxRecords)
      (new Aggregator(shards, limits, growing + (grown.shard.id -> grown)), Vector.empty)
    else (without(grown.shard), Vector(grown.put))

  private def without(shard: Shard) = new Aggregator(shards, limits, growing - shard.id)
}

object Aggregator {

  /** @param shards the stream's; those that are closed take nothing in and don't count */
  def apply[R <: Packable](shards: Iterable[Shard], limits: Limits = Limits()): Aggregator[R] =
    nothingIn(OpenShards(shards), limits)

  /** How large an aggregated record may become; by itself, a record may be larger. The defaults are the KPL's.
    *
    * @param maxBytes   of data and partition key, as the service counts; it takes 1 MiB at most, or what the stream's
    *                   `MaxRecordSize` says
    * @param maxRecords user records
    * @see [[https://github.com/awslabs/amazon-kinesis-producer/blob/master/java/amazon-kinesis-producer-sample/default_config.properties AggregationMaxSize, AggregationMaxCount]]
    */
  final case class Limits(maxBytes: Int = 50 << 10, maxRecords: Int = Int.MaxValue) {
    require(maxBytes > 0 && maxRecords > 0, s"nothing fits into $this")

    def allow(record: AggregatedRecord[Packable]): Boolean =
      record.bytes + KinesisPut.PartitionKey.length <= maxBytes && record.records.sizeIs <= maxRecords
  }

  private def nothingIn[R <: Packable](shards: OpenShards, limits: Limits): Aggregator[R] =
    new Aggregator(shards, limits, TreeMap.empty[String, Growing[R]])

  private final case class Growing[R <: Packable](shard: Shard, record: AggregatedRecord[R]) {
    def put: KinesisPut[R] = KinesisPut.of(record, shard)
  }

  /** Who takes which keys in. While a stream is resharded, it may be that nobody is known for some. */
  private final case class OpenShards(byStart: TreeMap[BigInt, Shard]) {
    def of(hashKey: BigInt): Option[Shard] =
      byStart.maxBefore(hashKey + 1).map(_._2).filter(_.hashKeys.contains(hashKey))
  }

  private object OpenShards {
    def apply(shards: Iterable[Shard]): OpenShards =
      new OpenShards(TreeMap.from(shards.iterator.filterNot(_.closed).map(s => s.hashKeys.start -> s)))
  }
}
