package io.github.kinesisspark.read.catalog

import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.position.{ShardKey, ShardPosition}

/** Whether all is read that the streams hold now, by one GetShardIterator and one GetRecords of each shard, made twice: a record may become readable a
  * moment after the service has acknowledged it.
  */
object ReadToTip {
  private val log = LoggerFactory.getLogger(getClass)

  /** For each call with its retries. */
  private val Patience = 5.seconds

  /** Blocks.
    *
    * @param positions up to which the shards are read
    * @param readTo    all that arrived in a shard up to then comes before its position, in ms by the service's clock, if known
    * @return nothing where a call has failed
    */
  def isSo(
      catalog: ShardCatalog,
      positions: Map[ShardKey, ShardPosition],
      readTo: (ShardKey, ShardPosition) => Option[Long]
  ): Option[Boolean] = {
    import catalog.clients.runtime
    val looks = catalog.ends(Some(Patience))
    def isNow = Parallel
      .map(positions.toVector) { case (shard, at) => looks.isTip(shard, at, readTo(shard, at)) }
      .forall(identity)
    try
      Some(isNow && {
        runtime.waits.sleep(ShardProbes.BetweenCalls)
        isNow
      })
    catch {
      case e: KinesisException =>
        log.debug("Whether all is read was not found out.", e)
        None
    }
  }
}
