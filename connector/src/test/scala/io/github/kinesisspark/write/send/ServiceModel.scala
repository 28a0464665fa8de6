package io.github.kinesisspark.write.send

import java.io.IOException

import scala.util.Random

import software.amazon.awssdk.services.kinesis.model.{
  InternalFailureException,
  InvalidArgumentException,
  LimitExceededException
}

import io.github.kinesisspark.aws.FaultClassifier
import io.github.kinesisspark.write.send.CallAnswer._
import io.github.kinesisspark.write.send.RecordAnswer._

/** PutRecords as the service has it: quotas of shards, limits of sizes, a split now and then, and bad luck.
  *
  * @param failures how often a call fails as a whole
  * @param quota    of a shard, in seconds per second
  */
final class ServiceModel(
    random: Random,
    shards: Int,
    maxCall: Long = 10L << 20,
    maxRecord: Int = 1 << 20,
    failures: Double = 0,
    quota: Double = 1.0
) {
  import ServiceModel._

  private var open     = Vector.tabulate(shards)(n => Shard(shardId(n), n * (Keys / shards), (n + 1) * (Keys / shards)))
  private var credit   = Map.empty[String, (Long, Double)]
  private var next     = shards
  var log: Vector[Log] = Vector.empty

  def split(): Unit = {
    val parent   = open(random.nextInt(open.size))
    val middle   = (parent.from + parent.until) / 2
    val children = Vector(Shard(shardId(next), parent.from, middle), Shard(shardId(next + 1), middle, parent.until))
    next += 2
    open = open.filterNot(_ == parent) ++ children
  }

  def put(entries: Vector[Entry], now: Long): CallAnswer =
    if (entries.map(_.size.toLong).sum > maxCall || entries.exists(_.size > maxRecord))
      failed(InvalidArgumentException.builder.message("too large").build)
    else if (random.nextDouble() < failures)
      failed(if (random.nextBoolean()) LimitExceededException.builder.build else InternalFailureException.builder.build)
    else PerRecord(entries.map(take(_, now)))

  /** The call is done, but its answer is lost. */
  def putUnacknowledged(entries: Vector[Entry], now: Long): CallAnswer = {
    put(entries, now): Unit
    failed(new IOException("connection lost"))
  }

  private def take(entry: Entry, now: Long): RecordAnswer = {
    val shard        = open.find(s => s.from <= entry.hashKey && entry.hashKey < s.until).get.id
    val (at, left)   = credit.getOrElse(shard, (now, quota))
    val current      = math.min(quota, left + (now - at) / 1000.0 * quota)
    val cost         = ShardThrottle.cost(entry)
    val isInternal   = failures > 0 && random.nextDouble() < failures / 10
    val isAffordable = current >= math.min(cost, quota)
    credit = credit.updated(shard, (now, if (isAffordable && !isInternal) current - cost else current))
    if (isInternal) Refused("InternalFailure", "Internal service failure.")
    else if (!isAffordable) Refused(Refused.Throttling, s"Rate exceeded for shard $shard in stream events")
    else {
      log :+= Log(shard, entry.partitionKey, entry.row.row, now)
      Taken(shard)
    }
  }
}

object ServiceModel {
  final case class Shard(id: String, from: BigInt, until: BigInt)
  final case class Log(shard: String, key: String, row: Long, at: Long)

  private val Keys = BigInt(1) << 128

  /** A call that fails as a whole with this exception. */
  def failed(cause: Throwable, hasWorked: Boolean = true): CallAnswer.Failed =
    CallAnswer.Failed(FaultClassifier.classify(cause), hasWorked, cause)

  def shardId(n: Int): String = f"shardId-$n%012d"
}
