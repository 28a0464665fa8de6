package io.github.kinesisspark.read.plan

import scala.util.Random

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.position._

/** A stream as the simplest model has it: shards with hash ranges that are split and merged, records with partition keys, and a
  * service that lists what it still keeps. One unit of time passes with each change.
  */
final class StreamModel(random: Random, shards: Int) {
  import StreamModel._

  private var time                 = 0
  private var numbers              = 0L
  private var kept: Vector[Kept]   = Vector.empty
  private var forgotten: Set[Long] = Set.empty

  (0 until shards).foreach(i => add(HashKeyRange(KeySpace * i / shards, KeySpace * (i + 1) / shards - 1)))

  /** All shards there ever were. */
  def all: Vector[Kept] = kept

  def open: Vector[Kept] = kept.filter(_.closed.isEmpty).sortBy(_.keys.start)

  /** What the service still lists. */
  def listing: Vector[Shard] = kept.filterNot(_.expired).map(_.asListed)

  def children(id: String): Vector[Shard] = kept.filter(_.parents.contains(id)).map(_.asListed.copy(closed = false))

  /** Numbers of records that were past retention before anybody read them, or after. */
  def expired: Set[Long] = forgotten

  /** The records of a shard in the order of their numbers; none once the shard is past retention. */
  def records(id: String): Vector[Record] =
    kept.find(s => s.id == id && !s.expired).fold(Vector.empty[Record])(_.records)

  def isExpired(id: String): Boolean = kept.exists(s => s.id == id && s.expired)

  def isClosed(id: String): Boolean = kept.exists(s => s.id == id && s.closed.nonEmpty)

  def put(): Unit = {
    val key   = random.nextInt(Keys)
    val hash  = KeySpace * key / Keys
    val shard = open.find(s => s.keys.start <= hash && hash <= s.keys.end).get
    numbers += 1
    update(shard.id)(s => s.copy(records = s.records :+ Record(numbers, key)))
  }

  def split(): Unit = {
    val wide = open.filter(s => s.keys.end > s.keys.start)
    if (wide.nonEmpty) split(wide(random.nextInt(wide.size)))
  }

  def merge(): Unit = {
    val now = open
    if (now.size > 1) {
      val i = random.nextInt(now.size - 1)
      merge(now(i), now(i + 1))
    }
  }

  /** UpdateShardCount to twice as many. */
  def double(): Unit = if (open.size <= MostShards / 2) open.foreach(split(_))

  /** UpdateShardCount to half as many. */
  def halve(): Unit = if (open.size % 2 == 0) open.grouped(2).foreach(pair => merge(pair(0), pair(1)))

  /** Shards that were closed before now are past retention. */
  def expire(): Unit = {
    val gone = kept.filter(s => s.closed.exists(_ < time))
    forgotten ++= gone.flatMap(_.records).map(_.number)
    gone.foreach(s => update(s.id)(_.copy(expired = true)))
  }

  def pass(): Unit = time += 1

  private def split(parent: Kept): Unit = {
    val middle = (parent.keys.start + parent.keys.end + 1) / 2
    close(parent)
    add(HashKeyRange(parent.keys.start, middle - 1), parent.id)
    add(HashKeyRange(middle, parent.keys.end), parent.id)
  }

  private def merge(left: Kept, right: Kept): Unit = {
    close(left)
    close(right)
    add(HashKeyRange(left.keys.start, right.keys.end), left.id, right.id)
  }

  private def close(shard: Kept): Unit = update(shard.id)(_.copy(closed = Some(time)))

  private def add(keys: HashKeyRange, parents: String*): Unit =
    kept = kept :+ Kept(shardId(kept.size), parents, keys, None, expired = false, Vector.empty)

  private def update(id: String)(change: Kept => Kept): Unit = kept = kept.map(s => if (s.id == id) change(s) else s)
}

object StreamModel {
  private val KeySpace   = BigInt(1) << 10
  private val Keys       = 16
  private val MostShards = 32

  /** @param number grows over the whole stream, as sequence numbers do along a line of descent */
  final case class Record(number: Long, key: Int)

  /** @param closed when */
  final case class Kept(
      id: String,
      parents: Seq[String],
      keys: HashKeyRange,
      closed: Option[Int],
      expired: Boolean,
      records: Vector[Record]
  ) {
    def asListed: Shard = Shard(id, parents, keys, closed.nonEmpty)
  }
}
