package io.github.kinesisspark.testkit.model

/** Which shards ListShards shall name. */
sealed trait ShardFilter
object ShardFilter {
  case object AtTrimHorizon                    extends ShardFilter
  case object FromTrimHorizon                  extends ShardFilter
  case object AtLatest                         extends ShardFilter
  final case class AtTimestamp(millis: Long)   extends ShardFilter
  final case class FromTimestamp(millis: Long) extends ShardFilter
  final case class AfterShardId(id: String)    extends ShardFilter

  /** The shards that pass, of those the service still knows. At the time of a reshard, both parents and children count as open.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_ShardFilter.html ShardFilter]]
    * @param horizon the oldest time of which records are kept; a stream younger than its retention begins with itself
    */
  def select(shards: Vector[ShardInfo], filter: ShardFilter, horizon: Long): Vector[ShardInfo] = {
    def openAt(time: Long)(s: ShardInfo)    = s.madeAtMillis <= time && openSince(time)(s)
    def openSince(time: Long)(s: ShardInfo) = s.closedAt.forall(_ >= time)
    val begin                               = shards.headOption.fold(horizon)(s => math.max(horizon, s.madeAtMillis))
    val known                               = shards.filterNot(_.isExpired(horizon))
    filter match {
      case AtTrimHorizon    => known.filter(openAt(begin))
      case FromTrimHorizon  => known
      case AtLatest         => known.filter(_.isOpen)
      case AtTimestamp(t)   => known.filter(openAt(math.max(begin, t)))
      case FromTimestamp(t) => known.filter(openSince(math.max(begin, t)))
      case AfterShardId(id) => known.filter(_.id > id)
    }
  }
}
