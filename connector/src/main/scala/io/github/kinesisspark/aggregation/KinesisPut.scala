package io.github.kinesisspark.aggregation

import io.github.kinesisspark.position.{HashKeyRange, Shard}

/** A Kinesis record to put: a user record as it is, or several in an aggregated one.
  *
  * @param explicitHashKey to be given with it, where there is one
  * @param records         what it holds, in order
  * @param shard           where it goes, if the stream is not resharded meanwhile; nothing where no shard is known for it
  */
final case class KinesisPut[+R <: Packable](
    data: Array[Byte],
    partitionKey: String,
    explicitHashKey: Option[BigInt],
    records: Vector[R],
    shard: Option[Shard]
) {

  /** What is to be put once more, after it was taken in by a shard that may be another than [[shard]].
    *
    * That is all of it or nothing: of an aggregated record with a key of another shard the KCL drops every user record, while this
    * connector's source drops those of the other shard only. So nobody misses a record, though the latter reads some twice.
    *
    * @param taker the keys of the shard that took it in
    */
  def toPutAgain(taker: HashKeyRange): Vector[R] = {
    // All of them belong to the shard that they were packed for.
    def isTheirs = shard.exists(s => taker.contains(s.hashKeys)) || records.forall(r => taker.contains(r.hashKey))
    if (records.sizeIs > 1 && !isTheirs) records else Vector.empty
  }
}

object KinesisPut {

  def of[R <: Packable](record: R, shard: Option[Shard]): KinesisPut[R] =
    KinesisPut(record.data, record.partitionKey, record.explicitHashKey, Vector(record), shard)

  /** What was packed for a shard, if anything was. One user record goes as it is: there is nothing to gain by packing it. */
  private[aggregation] def flushed[R <: Packable](
      aggregated: AggregatedRecord[R],
      shard: Shard
  ): Vector[KinesisPut[R]] =
    aggregated.records match {
      case Vector()       => Vector.empty
      case Vector(single) => Vector(of(single, Some(shard)))
      case several        =>
        Vector(KinesisPut(aggregated.payload, PartitionKey, Some(several.head.hashKey), several, Some(shard)))
    }

  /** The hash key says where it goes, and the user records have keys of their own: the shortest will do, the KPL's. */
  val PartitionKey = "a"
}
