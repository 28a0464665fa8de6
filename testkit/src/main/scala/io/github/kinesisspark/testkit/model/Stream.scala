package io.github.kinesisspark.testkit.model

import io.github.kinesisspark.testkit.KinesisServerConfig
import io.github.kinesisspark.testkit.subscription.Timetable

import java.util.SplittableRandom
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import scala.annotation.tailrec
import scala.util.Random

/** How a stream's capacity is set. */
sealed abstract class StreamMode(val name: String)
object StreamMode {
  case object Provisioned extends StreamMode("PROVISIONED")
  case object OnDemand    extends StreamMode("ON_DEMAND")
  val all: Vector[StreamMode] = Vector(Provisioned, OnDemand)
}

sealed abstract class StreamStatus(val name: String)
object StreamStatus {
  case object Creating extends StreamStatus("CREATING")
  case object Active   extends StreamStatus("ACTIVE")
  case object Updating extends StreamStatus("UPDATING")
  case object Deleting extends StreamStatus("DELETING")
}

/** A metric of each shard, which CloudWatch has of streams that ask for it.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_EnableEnhancedMonitoring.html EnableEnhancedMonitoring]]
  */
sealed abstract class ShardMetric(val name: String)
object ShardMetric {
  case object IncomingBytes                      extends ShardMetric("IncomingBytes")
  case object IncomingRecords                    extends ShardMetric("IncomingRecords")
  case object OutgoingBytes                      extends ShardMetric("OutgoingBytes")
  case object OutgoingRecords                    extends ShardMetric("OutgoingRecords")
  case object WriteProvisionedThroughputExceeded extends ShardMetric("WriteProvisionedThroughputExceeded")
  case object ReadProvisionedThroughputExceeded  extends ShardMetric("ReadProvisionedThroughputExceeded")
  case object IteratorAgeMilliseconds            extends ShardMetric("IteratorAgeMilliseconds")

  val all: Vector[ShardMetric] = Vector(
    IncomingBytes,
    IncomingRecords,
    OutgoingBytes,
    OutgoingRecords,
    WriteProvisionedThroughputExceeded,
    ReadProvisionedThroughputExceeded,
    IteratorAgeMilliseconds
  )

  /** The name in a call that stands for all of them. */
  val AllName = "ALL"
}

/** What a stream's owner can change.
  *
  * @param encryptionKey the KMS key by which records are encrypted, if they are
  * @param shardMetrics  the metrics of each shard that CloudWatch has
  */
final case class StreamSettings(
    retentionHours: Int,
    maxRecordKiB: Int,
    mode: StreamMode,
    distribution: RecordDistribution = RecordDistribution.UserPartitionKey,
    encryptionKey: Option[String] = None,
    shardMetrics: Set[ShardMetric] = Set.empty
)

object StreamSettings {
  val default: StreamSettings = StreamSettings(Quota.MinRetentionHours, Quota.MinRecordKiB, StreamMode.Provisioned)
}

/** Where a record was put. */
final case class Placed(shardId: String, sequenceNumber: String)

/** One stream: its shards, its settings, and the rules of changing them. Reshards take turns under the stream's lock;
  * readers and writers see the shard map as it is and never wait for it, except a writer that met a shard just closed.
  * A reshard that takes effect later is carried out by whoever looks at the stream first after its time, or by the
  * timetable.
  */
final private[testkit] class Stream(
    val name: String,
    val arn: String,
    val createdAt: Long,
    val incarnation: Int,
    shardCount: Int,
    initial: StreamSettings,
    config: KinesisServerConfig,
    time: Timetable
) {
  import Stream._

  @volatile private var shards                   = ShardMap.uniform(shardCount, createdAt, incarnation)
  @volatile private var current                  = initial
  @volatile private var lastHorizon              = Long.MinValue // when the settings were last changed
  @volatile private var busyUntil                = createdAt
  @volatile private var pending: Option[Pending] = None
  @volatile private var listings = ShardListings.of(shards, createdAt, config.control.listingLag.toMillis)
  private val modeChanges        = new DailyQuota(Quota.ModeChangesPerDay)
  private val newKeys            = new DailyQuota(Quota.NewKeysPerDay)
  private val shardCountUpdates  = new DailyQuota(Quota.ShardCountUpdatesPerDay)
  @volatile private var deletedAt: Option[Long] = None
  private val stores                            = new ConcurrentHashMap[String, ShardStore]
  private var listCalls                         = RateLimit.full(Quota.ListShardsCallsPerStream, createdAt)
  private val distributed                       = new AtomicInteger
  private val reordered                         = new AtomicInteger
  shards.shards.foreach(addStore)

  @volatile private var registry = ConsumerRegistry.empty(config.consumerDelays, config.control.consumersPerStream)

  val policies: ResourcePolicies = new ResourcePolicies
  val tags: ResourceTags         = new ResourceTags

  def settings: StreamSettings    = current
  def consumers: ConsumerRegistry = registry
  def map: ShardMap               = { settle(); shards }

  /** The shards as a listing shows them that began at a time: as they were a while before. */
  def listed(asOf: Long): ShardMap = { settle(); listings.at(asOf) }

  def status: StreamStatus = {
    settle()
    val now = config.clock.millis
    if (deletedAt.nonEmpty) StreamStatus.Deleting
    else if (now < createdAt + config.createDelay.toMillis) StreamStatus.Creating
    else if (now < busyUntil) StreamStatus.Updating
    else StreamStatus.Active
  }

  /** The oldest time of which records are kept. A longer retention does not bring back what is past retention.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_IncreaseStreamRetentionPeriod.html IncreaseStreamRetentionPeriod]]
    */
  def horizon: Long = horizonAt(config.clock.millis)

  /** The same as a listing takes it that began at a time: as it was a while before. */
  def listedHorizon(asOf: Long): Long = horizonAt(asOf - config.control.listingLag.toMillis)

  private def horizonAt(millis: Long) = math.max(lastHorizon, millis - current.retentionHours * 3600000L)

  def isGone: Boolean = deletedAt.exists(config.clock.millis >= _ + config.deleteDelay.toMillis)

  /** Begins to delete the stream; one that is being deleted stays as it is. */
  def delete(): Unit = {
    deletedAt = deletedAt.orElse(Some(config.clock.millis))
    wakeReaders()
  }

  /** Has everyone who waits for records look at the stream again. */
  def wakeReaders(): Unit = stores.values.forEach(_.wake())

  /** The shard, unless it is closed and all it held is past retention. */
  def shard(id: String): Either[ServiceError, ShardStore] = map
    .get(id)
    .filterNot(_.isExpired(horizon))
    .map(s => stores.get(s.id))
    .toRight(ServiceError.notFound(s"Shard $id in stream $name under account ${config.accountId} does not exist"))

  /** The children of a shard whose end was seen. Whoever sees a shard closed before the map says so waits for the reshard
    * that is under way, so that no end is without its children.
    */
  def children(id: String): Vector[ShardInfo] = {
    if (shards.get(id).exists(_.isOpen)) synchronized(())
    shards.children(id)
  }

  def takeListCall(): Boolean = !config.enforceLimits || synchronized {
    val taken = listCalls.take(1, config.clock.millis)
    taken.foreach(listCalls = _)
    taken.nonEmpty
  }

  @tailrec def put(
      hashKey: BigInt,
      key: Option[String],
      data: Array[Byte],
      metered: Boolean
  ): Either[ServiceError, Placed] = {
    val shard = map.route(hashKey)
    stores.get(shard.id).append(key, data, config.clock.millis, metered, current.encryptionKey.isDefined) match {
      case ShardStore.Append.Stored(sequence) => Right(Placed(shard.id, sequence))
      case ShardStore.Append.Throttled        => Left(rateExceeded(shard.id))
      case ShardStore.Append.Closed           =>
        // A reshard is under way: its lock is free once the children are in the map.
        synchronized(())
        put(hashKey, key, data, metered)
    }
  }

  /** The order in which the records of the next PutRecords are stored, by their places in the request. */
  def storingOrder(count: Int): Vector[Int] = {
    val inRequest = Vector.range(0, count)
    if (!config.reorderPutRecords) inRequest
    else {
      val random = new SplittableRandom(config.seed * 31 + reordered.getAndIncrement())
      new Random(random.nextLong()).shuffle(inRequest)
    }
  }

  /** Puts a record into a shard of one's choice, past all limits. */
  def putInto(shardId: String, key: String, data: Array[Byte]): Either[ServiceError, Placed] = {
    val store = map.get(shardId).map(shard => stores.get(shard.id))
    store.toRight(ServiceError.shardNotFound(shardId, name, config.accountId)).flatMap {
      _.append(Some(key), data, config.clock.millis, metered = false, current.encryptionKey.isDefined) match {
        case ShardStore.Append.Stored(sequence) => Right(Placed(shardId, sequence))
        case _                                  =>
          Left(
            ServiceError.invalidArgument(
              s"Shard $shardId in stream $name under account ${config.accountId} is closed and takes no more records."
            )
          )
      }
    }
  }

  def rateExceeded(shardId: String): ServiceError =
    ServiceError.throttled(s"Rate exceeded for shard $shardId in stream $name under account ${config.accountId}.")

  /** Splits a shard, whose halves get two hash keys at least. */
  def split(id: String, at: BigInt): Either[ServiceError, Unit] = reshardBy {
    shards.split(id, at, config.clock.millis).flatMap { resharding =>
      val Vector(shard) = resharding.closed: @unchecked
      Either.cond(
        at > shard.range.start + 1 && at < shard.range.end,
        resharding,
        ShardMap.Refusal.HashKeyNotInside(shard)
      )
    }
  }

  def merge(id: String, adjacent: String): Either[ServiceError, Unit] =
    reshardBy(shards.merge(id, adjacent, config.clock.millis))

  /** Goes to `target` uniform shards by splits and merges. */
  def rescale(target: Int): Either[ServiceError, Unit] = whenActive {
    begin {
      val open = shards.open.map(_.range)
      Rescale.plan(open, target).foreach { step =>
        val now = config.clock.millis
        carryOut(step match {
          case Rescale.SplitAt(key)     => shards.split(shards.route(key).id, key, now)
          case Rescale.MergeNext(start) =>
            val first = shards.route(start)
            shards.merge(first.id, shards.route(first.range.end + 1).id, now)
        })
      }
    }
    Right(())
  }

  /** Changes the mode, twice in 24 hours at most. */
  def changeMode(to: StreamMode): Either[ServiceError, Unit] =
    modeChanges.take("has changed its mode", isEnforced = true)(update(settings => Right(settings.copy(mode = to))))

  /** Encrypts the records to come by a key. Where limits are enforced, a stream gets 25 keys in 24 hours at most. */
  def encrypt(key: String): Either[ServiceError, Unit] = newKeys.take("has been given a key", config.enforceLimits) {
    update(settings => Right(settings.copy(encryptionKey = Some(key))))
  }

  /** As [[rescale]]. Where limits are enforced, ten times in 24 hours at most. */
  def updateShardCount(target: Int): Either[ServiceError, Unit] =
    shardCountUpdates.take("has updated its shard count", config.enforceLimits)(rescale(target))

  def update(change: StreamSettings => Either[ServiceError, StreamSettings]): Either[ServiceError, Unit] = whenActive {
    change(current).map { changed =>
      lastHorizon = horizon
      current = changed
      busyUntil = config.clock.millis + config.updateDelay.toMillis
    }
  }

  /** Changes who decides where records go, which takes effect at once. */
  def distribute(distribution: RecordDistribution): Either[ServiceError, Unit] = whenActive {
    RecordDistribution.checked(distribution, current.mode, name, config.accountId).map { checked =>
      current = current.copy(distribution = checked)
    }
  }

  /** A hash key of the stream's own choice, so that its open shards get their records in turn. */
  def nextHashKey(): BigInt = {
    val open = shards.open
    open(Math.floorMod(distributed.getAndIncrement(), open.size)).range.start
  }

  def changeConsumers[E](change: ConsumerRegistry => Either[E, (ConsumerRegistry, Consumer)]): Either[E, Consumer] = {
    val changed = synchronized {
      change(registry).map { case (changed, consumer) =>
        registry = changed
        consumer
      }
    }
    wakeReaders()
    changed
  }

  /** Forgets a shard's records below a sequence number, as if they were past retention. */
  def trim(shardId: String, below: SequenceNumber): Unit = {
    val store = stores.get(shardId)
    require(store != null, s"Stream $name has no shard $shardId")
    require(store.owns(below), s"$below is not a sequence number of $shardId of stream $name")
    store.trimBelow(below.ordinal)
  }

  def recordCount: Long = shards.shards.iterator.map(s => stores.get(s.id).recordCount).sum

  private def reshardBy(decide: => Either[ShardMap.Refusal, ShardMap.Resharding]): Either[ServiceError, Unit] =
    whenActive(decide.left.map(refused).map(_ => begin(carryOut(decide))))

  // The stream is UPDATING until updateDelay is over; the work is done at its begin or at its end.
  private def begin(work: => Unit): Unit = {
    val ends = config.clock.millis + config.updateDelay.toMillis
    if (config.control.reshardsAtEnd && config.updateDelay.toMillis > 0) {
      pending = Some(new Pending(ends, () => work))
      time.at(ends)(() => settle())
      ()
    } else {
      work
      listings = listings.after(shards, config.clock.millis)
    }
    busyUntil = ends
  }

  // Does what is due, so that whoever looks at the stream sees it done; the timetable wakes those who only wait.
  private def settle(): Unit = if (pending.exists(_.at <= config.clock.millis)) synchronized {
    val due = pending.filter(_.at <= config.clock.millis)
    if (due.nonEmpty) pending = None
    due.foreach { reshard =>
      reshard.work()
      listings = listings.after(shards, config.clock.millis)
    }
  }

  private def whenActive(change: => Either[ServiceError, Unit]): Either[ServiceError, Unit] = synchronized {
    if (status == StreamStatus.Active) change
    else
      Left(
        ServiceError.inUse(
          s"Stream $name under account ${config.accountId} not ACTIVE, instead in state ${status.name}"
        )
      )
  }

  // Children get their stores first, then the parents close, then the map names the children: whoever sees a closed
  // parent waits for this lock and finds the children after it.
  private def carryOut(decided: Either[ShardMap.Refusal, ShardMap.Resharding]): Unit = {
    val resharding = decided.fold(r => throw new IllegalStateException(s"Resharding $name: $r"), identity)
    resharding.opened.foreach(addStore)
    shards = shards.after(resharding, id => stores.get(id).close(resharding.at))
  }

  private def refused(refusal: ShardMap.Refusal): ServiceError = {
    val where = s"in stream $name under account ${config.accountId}"
    refusal match {
      case ShardMap.Refusal.NoSuchShard(id) => ServiceError.shardNotFound(id, name, config.accountId)
      case ShardMap.Refusal.NotOpen(id)     =>
        ServiceError.invalidArgument(
          s"Shard $id $where has already been merged or split, and thus is not eligible for merging or splitting."
        )
      case ShardMap.Refusal.NotAdjacent(id, to) =>
        ServiceError.invalidArgument(
          s"Shards $id and $to $where are not an adjacent pair of shards eligible for merging"
        )
      case ShardMap.Refusal.HashKeyNotInside(shard) =>
        ServiceError.invalidArgument(
          s"NewStartingHashKey used in SplitShard() on shard ${shard.id} $where is not both greater than one plus the " +
            s"shard's StartingHashKey ${shard.range.start} and less than the shard's EndingHashKey ${shard.range.end}."
        )
    }
  }

  /** Changes of a kind, of which the stream allows a number within 24 hours. A change that is refused does not count. Guarded by the
    * stream's lock.
    */
  private class DailyQuota(limit: Int) {
    private var times = Vector.empty[Long]

    def take(what: String, isEnforced: Boolean)(change: => Either[ServiceError, Unit]): Either[ServiceError, Unit] =
      Stream.this.synchronized {
        val now = config.clock.millis
        times = times.filter(_ > now - DayMillis)
        if (isEnforced && times.size >= limit)
          Left(
            ServiceError.limitExceeded(
              s"Stream $name under account ${config.accountId} $what ${times.size} times within 24 hours. Limit: $limit."
            )
          )
        else {
          val changed = change
          if (changed.isRight) times = times :+ now
          changed
        }
      }
  }

  private def addStore(info: ShardInfo): Unit = {
    stores.put(info.id, new ShardStore(info, incarnation, config.seed, config.enforceLimits, config.reads))
    ()
  }
}

private[testkit] object Stream {
  private val DayMillis = 24 * 60 * 60 * 1000L

  /** A reshard that takes effect at a time of the service's clock. */
  final private class Pending(val at: Long, val work: () => Unit)
}
