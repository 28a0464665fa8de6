package io.github.kinesisspark.read.reader

import java.util.concurrent.{ScheduledExecutorService, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong, AtomicReference}

import scala.collection.concurrent.TrieMap
import scala.collection.mutable
import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{ClientKind, ClientLease, KinesisClients}
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange, StreamArn}

/** The shard readers of one source in one executor, kept across micro-batches.
  *
  * Holds what they share: memory, clients, and the moment somebody has news. The driver says which shards are read here;
  * when it has not said anything for the length of its lease, the pool may be closed.
  *
  * @param onNews called once after each probe when a reader has something to plan; must not block
  */
final class ShardReaderPool(
    config: ReaderConfig,
    worker: ScheduledExecutorService,
    budget: MemoryBudget,
    onNews: () => Unit
) extends AutoCloseable {
  import ShardReaderPool._

  private val log           = LoggerFactory.getLogger(classOf[ShardReaderPool])
  private val memory        = budget.join(config.bufferBytes)
  private val rereadBytes   = new AtomicLong
  private val rereadRecords = new AtomicLong
  private val reads         = new AtomicReference(ReadCount.none)
  private val delivered     = new AtomicReference(UserRecordCount.none)
  private val telemetry     = new FanOutTelemetry
  val polled                = new PollingTelemetry
  private val starts        = StartSchedule.ofReaders
  private val pollers       =
    new PollingPublishers(
      reach(_, ClientKind.Calls),
      worker,
      polled,
      Some(starts),
      config.callsPerSecond
    )

  /** Whether some executor has read for this query before: then a host that can't be found here is an outage, and no mistake. */
  @volatile private var hasRead = false

  /** Whether the driver has to be told of news: it has had an answer since. */
  private val awaitsNews = new AtomicBoolean

  private val leasedUntil = new AtomicLong(System.nanoTime())

  /** Tasks of a real-time batch, told of their shards' news at once. */
  private val followers = TrieMap.empty[ShardKey, () => Unit]

  // All below is guarded by `this`.
  private val readers                             = mutable.LinkedHashMap.empty[ShardKey, ShardReader]
  private val clients                             = mutable.HashMap.empty[(StreamArn, ClientKind), ClientLease]
  private var publication: Publication            = Publication.Polling
  private var publishers: RecordPublisher.Factory = pollers
  private var closed                              = false
  private var answered                            = 0L

  /** Nothing where a later request has come before, or the readers are closed. */
  def probe(request: ProbeRequest): Option[ProbeAnswer] = {
    val since = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(request.sinceMillis)
    hasRead ||= request.hasRead
    renewLease(request.leaseMillis.millis)
    val mine = synchronized {
      Option.when(!closed && request.number > answered) {
        answered = request.number
        publishBy(request.publication)
        readOnly(request.shards, request.stops)
        readers.values.toVector
      }
    }
    mine.map(answer(request, _, since))
  }

  private def answer(request: ProbeRequest, mine: Vector[ShardReader], since: Long) = {
    mine.foreach { reader =>
      if (request.ending(reader.shard)) reader.shardIsClosed()
      reader.demand()
    }
    // Before the readers are looked at: what comes after that is news.
    awaitsNews.set(true)
    ProbeAnswer(
      tips = mine.map(_.tip(request.grain)),
      settled = mine.forall(_.settledSince(since)),
      opened = !mine.exists(_.isOpening),
      totals = ReaderTotals(
        bufferedBytes = mine.map(_.held).sum,
        rereadBytes = rereadBytes.get,
        rereadRecords = rereadRecords.get,
        reads = reads.get,
        delivered = delivered.get,
        polling = polled.report,
        subscriptions = request.publication match {
          case Publication.Polling   => None
          case _: Publication.FanOut => Some(telemetry.report)
        }
      )
    )
  }

  /** The range's records, if the shard's reader holds all of them. */
  def slice(range: ShardRange): Option[Iterator[KinesisRecord]] =
    readerOf(range.shard).flatMap(_.slice(range.start, range.end))

  /** The shard's reader, if it has not gone past a position. */
  def at(shard: ShardKey, position: ShardPosition): Option[ShardReader] =
    readerOf(shard).filter(_.advance(position).isDefined)

  /** The reader of a shard from a position on, for a task of a real-time batch, which drops from it what it has taken. One that has
    * failed begins anew.
    *
    * @param by     as the batch was planned, of which this executor may not have heard yet
    * @param onNews called when there may be more to take, or the reader fails; must not block
    */
  def follow(shard: ShardKey, from: ShardPosition, by: Publication, onNews: () => Unit): ShardReader = {
    val reader = synchronized {
      require(!closed, s"the readers of ${config.source} are closed")
      publishBy(by)
      readers.get(shard).filter(r => !r.hasFailed && r.dropTo(from)).getOrElse {
        drop(shard)
        open(shard, from, stop = None)
      }
    }
    followers(shard) = onNews
    reader.demand()
    reader
  }

  /** The reader reads ahead for the next batch. */
  def unfollow(shard: ShardKey, onNews: () => Unit): Unit = {
    followers.remove(shard, onNews): Unit
    renewLease(BetweenBatches)
  }

  /** Whether some executor has read for this query before. */
  def hasEverRead: Boolean = hasRead

  /** Told by tasks, of what they have read from Kinesis again. */
  def countAgain(records: Array[KinesisRecord]): Unit = {
    rereadBytes.addAndGet(KinesisRecord.bytesOf(records))
    rereadRecords.addAndGet(records.length.toLong): Unit
  }

  /** Told by tasks, of what they have read here. */
  def count(records: UserRecordCount): Unit = delivered.updateAndGet(_.and(records)): Unit

  override def close(): Unit = {
    val (mine, leases) = synchronized {
      closed = true
      val all = (readers.values.toVector, clients.values.toVector)
      readers.clear()
      clients.clear()
      all
    }
    mine.foreach(_.close())
    // Whoever deregisters the consumers next must not do it under a subscription.
    if (!telemetry.awaitClosed(LeavingTime)) log.warn("{}: subscriptions are still open", config.source)
    leases.foreach(_.close())
    memory.close()
  }

  def isExpired: Boolean = followers.isEmpty && System.nanoTime() - leasedUntil.get > 0

  /** The readers go on for so long at the least. */
  def renewLease(length: FiniteDuration): Unit = {
    val until = System.nanoTime() + length.toNanos
    leasedUntil.updateAndGet(before => if (until - before > 0) until else before): Unit
  }

  private def readerOf(shard: ShardKey): Option[ShardReader] = synchronized(readers.get(shard))

  private def publishBy(wanted: Publication): Unit = if (wanted != publication) {
    readers.keys.filter(s => wanted.consumer(s.stream) != publication.consumer(s.stream)).toVector.foreach(drop)
    publication = wanted
    publishers = wanted match {
      case Publication.Polling        => pollers
      case fanOut: Publication.FanOut =>
        new FanOutPublishers(
          fanOut,
          reach(_, ClientKind.Subscriptions),
          worker,
          telemetry,
          starts,
          pollers
        )
    }
  }

  private def readOnly(shards: Vector[(ShardKey, ShardPosition)], stops: Map[ShardKey, ShardPosition]): Unit = {
    require(!closed, s"the readers of ${config.source} are closed")
    val wanted = shards.iterator.map(_._1).toSet
    readers.keys.filterNot(wanted).toVector.foreach(drop)
    shards.foreach { case (shard, position) =>
      if (!readers.get(shard).exists(_.dropTo(position))) {
        drop(shard)
        open(shard, position, stops.get(shard)): Unit
      }
    }
  }

  private def open(shard: ShardKey, position: ShardPosition, stop: Option[ShardPosition]): ShardReader = {
    log.debug(s"reading $shard from ${ShardPosition.encode(position)}")
    val reader =
      new ShardReader(shard, position, stop, publishers, memory, () => memory.share, count, () => tellNews(shard))
    readers(shard) = reader
    reader
  }

  private def drop(shard: ShardKey): Unit = readers.remove(shard).foreach(_.close())

  private def count(read: Array[KinesisRecord]): Unit =
    reads.updateAndGet(_.and(ReadCount(1, read.length, KinesisRecord.bytesOf(read)))): Unit

  private def lease(stream: StreamArn, kind: ClientKind): ClientLease =
    synchronized(clients.getOrElseUpdate((stream, kind), newLease(stream, kind)))

  private def reach(stream: StreamArn, kind: ClientKind) =
    ReadingClient.of(lease(stream, kind), config.streams(stream).maxRetryDuration, () => hasRead)

  private def newLease(stream: StreamArn, kind: ClientKind): ClientLease = {
    val access = config.streams(stream)
    KinesisClients.lease(access.client, access.region, kind)
  }

  private def tellNews(shard: ShardKey): Unit = {
    followers.get(shard).foreach(_())
    if (awaitsNews.get && readerOf(shard).exists(_.hasNews) && awaitsNews.compareAndSet(true, false)) onNews()
  }
}

object ShardReaderPool {
  private val LeavingTime = 5.seconds

  /** How long readers go on after a real-time batch if the next doesn't come. */
  private val BetweenBatches = 1.minute
}
