package io.github.kinesisspark.testkit.model

/** Whether a shard still takes records. */
sealed trait ShardState
object ShardState {
  case object Open extends ShardState

  /** @param endingSequence one above the last record's number, as the service reserves it */
  final case class Closed(atMillis: Long, endingSequence: String) extends ShardState
}

/** What ListShards says of a shard, and when it came and went.
  *
  * @param madeAtSecond the top part of its sequence numbers; above its parents' even when they were made in the same second
  */
final case class ShardInfo(
    index: Int,
    range: HashRange,
    parent: Option[String],
    adjacentParent: Option[String],
    madeAtMillis: Long,
    madeAtSecond: Long,
    startingSequence: String,
    state: ShardState
) {
  val id: String              = ShardInfo.id(index)
  def isOpen: Boolean         = state == ShardState.Open
  def parents: Vector[String] = parent.toVector ++ adjacentParent
  def closedAt: Option[Long]  = state match {
    case ShardState.Closed(at, _) => Some(at)
    case ShardState.Open          => None
  }

  /** Whether every record it can have had is older than the horizon, so that the service forgets it. */
  def isExpired(horizon: Long): Boolean = closedAt.exists(_ < horizon)
}

object ShardInfo {
  def id(index: Int): String = f"shardId-$index%012d"

  /** The index in an id of the service's form. */
  def index(id: String): Option[Int] =
    Option.when(id.matches("shardId-\\d{12}"))(id.stripPrefix("shardId-")).flatMap(_.toIntOption)
}

/** The shards of a stream, open and closed: a value, and what may become of it. A step costs little however many shards
  * there are.
  *
  * Shards are opened here as values; closing needs the latest arrival and the ending sequence number, which only the shard's log
  * has, and so is a function the caller gives.
  *
  * @param shards all of them in the order they were made: a shard stands at its index
  * @param open the open ones by hash range: together they cover the whole space
  */
final case class ShardMap private (shards: Vector[ShardInfo], open: Vector[ShardInfo], incarnation: Int) {
  import ShardMap._

  def get(id: String): Option[ShardInfo] = ShardInfo.index(id).flatMap(shards.lift)

  /** The open shard that takes this hash key. */
  def route(key: BigInt): ShardInfo = open(place(key))

  /** The shards that a closed one's hash range went to. */
  def children(id: String): Vector[ShardInfo] = shards.filter(_.parents.contains(id))

  def split(id: String, at: BigInt, now: Long): Either[Refusal, Resharding] =
    openShard(id).flatMap { shard =>
      shard.range.splitAt(at).toRight(Refusal.HashKeyNotInside(shard)).map { case (left, right) =>
        Resharding(
          Vector(shard),
          Vector(left, right).zipWithIndex.map { case (range, i) =>
            child(shards.length + i, range, shard, None, now)
          },
          now
        )
      }
    }

  def merge(id: String, adjacent: String, now: Long): Either[Refusal, Resharding] =
    for {
      first  <- openShard(id)
      second <- openShard(adjacent)
      range  <- {
        val (left, right) = if (first.range.start <= second.range.start) (first, second) else (second, first)
        Either.cond(
          left.range.touches(right.range),
          HashRange(left.range.start, right.range.end),
          Refusal.NotAdjacent(id, adjacent)
        )
      }
    } yield Resharding(Vector(first, second), Vector(child(shards.length, range, first, Some(second), now)), now)

  /** The map after a resharding: parents closed, children added. */
  def after(resharding: Resharding, close: String => ShardState.Closed): ShardMap = {
    val closed = resharding.closed.foldLeft(shards)((all, s) => all.updated(s.index, s.copy(state = close(s.id))))
    // Parents lie side by side, and their children fill the same place.
    val first = place(resharding.closed.map(_.range.start).min)
    copy(closed ++ resharding.opened, open.patch(first, resharding.opened, resharding.closed.size))
  }

  /** Where among the open shards a hash key belongs. */
  private def place(key: BigInt): Int = {
    var low  = 0
    var high = open.length - 1
    while (low < high) {
      val middle = (low + high + 1) >>> 1
      if (open(middle).range.start <= key) low = middle else high = middle - 1
    }
    low
  }

  private def openShard(id: String): Either[Refusal, ShardInfo] =
    get(id).toRight(Refusal.NoSuchShard(id)).flatMap(s => Either.cond(s.isOpen, s, Refusal.NotOpen(id)))

  private def child(index: Int, range: HashRange, parent: ShardInfo, adjacent: Option[ShardInfo], now: Long) =
    newShard(
      index,
      range,
      Some(parent.id),
      adjacent.map(_.id),
      now,
      math.max(now / 1000, (parent +: adjacent.toVector).map(_.madeAtSecond).max + 1),
      incarnation
    )
}

object ShardMap {

  /** Parents to close and children to open, both at one time. */
  final case class Resharding(closed: Vector[ShardInfo], opened: Vector[ShardInfo], at: Long)

  /** Why a split or a merge can't be. */
  sealed trait Refusal
  object Refusal {
    final case class NoSuchShard(id: String)             extends Refusal
    final case class NotOpen(id: String)                 extends Refusal
    final case class NotAdjacent(id: String, to: String) extends Refusal
    final case class HashKeyNotInside(shard: ShardInfo)  extends Refusal
  }

  /** A new stream of `count` shards. */
  def uniform(count: Int, now: Long, incarnation: Int): ShardMap = {
    val shards = HashRange.uniform(count).zipWithIndex.map { case (range, i) =>
      newShard(i, range, None, None, now, now / 1000, incarnation)
    }
    new ShardMap(shards, shards, incarnation)
  }

  private def newShard(
      index: Int,
      range: HashRange,
      parent: Option[String],
      adjacentParent: Option[String],
      now: Long,
      madeAtSecond: Long,
      incarnation: Int
  ): ShardInfo = ShardInfo(
    index,
    range,
    parent,
    adjacentParent,
    now,
    madeAtSecond,
    SequenceNumber(madeAtSecond, index, 0, incarnation, now / 1000).toString,
    ShardState.Open
  )
}
