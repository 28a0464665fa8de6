package io.github.kinesisspark.write.send

import scala.collection.immutable.TreeMap

/** Which shard a hash key belongs to, as far as answers have shown: for each shard, the span between the least and the greatest hash key
  * that went there. Shards have no holes, so what lies between belongs to it as well. Newer answers win: where a span runs into
  * another's, that one's shard has been split or merged.
  *
  * It only serves the pace, so that listing shards (another call, another permission) isn't worth it.
  *
  * @param spans by the least hash key of each
  */
final case class ShardSpans private (spans: TreeMap[BigInt, ShardSpans.Span]) {
  import ShardSpans._

  def shardOf(hashKey: BigInt): Option[String] =
    spans.rangeTo(hashKey).lastOption.collect { case (_, span) if span.last >= hashKey => span.shardId }

  def learn(hashKey: BigInt, shardId: String): ShardSpans =
    if (shardOf(hashKey).contains(shardId)) this
    else {
      val (own, others) = spans.partition(_._2.shardId == shardId)
      val first         = own.headOption.fold(hashKey)(_._1.min(hashKey))
      val last          = own.headOption.fold(hashKey)(_._2.last.max(hashKey))
      val apart         = others.filter { case (start, span) => start > last || span.last < first }
      ShardSpans(apart.updated(first, Span(last, shardId)))
    }
}

object ShardSpans {
  final case class Span(last: BigInt, shardId: String)

  val unknown: ShardSpans = ShardSpans(TreeMap.empty[BigInt, Span])
}
