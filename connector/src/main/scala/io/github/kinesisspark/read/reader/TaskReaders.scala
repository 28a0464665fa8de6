package io.github.kinesisspark.read.reader

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{BlockingCalls, CallObserver, ClientKind, ShardFilter, StreamDirectory}
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.reader.ShardConsumer.{Source, Sources}
import io.github.kinesisspark.read.reader.TaskReaders._

/** Readers for the ranges of one task. A range is taken from the executor's live reader if that stands where the range begins. Otherwise the task
  * opens a reader of its own: after a restart, on another executor, for a range that another task has taken already, and in a batch read.
  *
  * Used by the task's thread alone. Clients are its own, because a task may outlive the live readers.
  *
  * @param live of a streaming query
  */
final class TaskReaders(
    config: ReaderConfig,
    live: Option[ShardReaderPool],
    shared: ReadersShared
) extends AutoCloseable {
  import shared.{runtime, worker}

  private val log      = LoggerFactory.getLogger(classOf[TaskReaders])
  private val clients  = new ReadingClients(config, shared.clients, () => live.exists(_.hasEverRead))
  private lazy val own = {
    hasOwn = true
    shared.memory.join(config.bufferBytes)
  }
  private var hasOwn = false

  private lazy val pollers = new PollingPublisherFactory(
    clients.of(_, ClientKind.Calls),
    worker,
    live.fold(new ReaderTelemetry)(_.telemetry),
    starts = None,
    config.polling
  )

  /** Of a batch read by fan-out. */
  private lazy val subscribers = config.batch.collect { case fanOut: ResolvedPublisher.FanOut =>
    FanOutRecordPublisher.factory(
      fanOut,
      clients.of(_, ClientKind.Subscriptions),
      worker,
      new ReaderTelemetry,
      StartSchedule.ofReaders,
      pollers,
      isNamedSince = (_, _) => true
    )
  }

  private object sources extends Sources {
    override def first(range: ShardRange): Source =
      live
        .flatMap(_.at(range.shard, range.start))
        .map(Source.live)
        .getOrElse(subscribers.fold(polling(range))(by => Source.own(open(range, by))))

    override def polling(range: ShardRange): Source = Source.poller(open(range, pollers))

    override def isGone(shard: ShardKey): Boolean = {
      val by        = clients.of(shard.stream, ClientKind.Calls)
      val directory = new StreamDirectory(by.client, BlockingCalls(by.retries, by.hasWorked, CallObserver.warning))
      !directory.listShards(shard.stream, ShardFilter.All).shards.exists(_.id == shard.shardId)
    }

    override def readAgain(shard: ShardKey, records: Array[KinesisRecord]): Unit =
      live.foreach(_.telemetry.reread(shard, records))
  }

  /** Is signalled when readers have news. */
  val wakeUp: WakeUp = new WakeUp

  /** The range's records: those that a live reader holds as a whole stay there for the next to ask. To be closed. */
  def read(range: ShardRange): Records =
    live
      .flatMap(_.slice(range))
      .fold[Records](new ShardConsumer(range, sources, config.failOnDataLoss, wakeUp))(new Buffered(_))

  /** What was made of records that were read. */
  def count(records: UserRecordCount): Unit = live.foreach(_.count(records))

  override def close(): Unit = {
    if (hasOwn) own.close()
    clients.close()
  }

  private def open(range: ShardRange, publishers: RecordPublisher.Factory): ShardReader = {
    runtime.lines.info(log, s"own reader ${range.shard.stream}", range.shard)(
      s"reading ${range.shard} from ${ShardPosition.encode(range.start)} to ${ShardPosition.encode(range.end)}"
    )
    val reader = new ShardReader(
      range.shard,
      range.start,
      stop = Some(range.end),
      publishers,
      own,
      _ => (),
      () => ()
    )
    if (range.end == ShardPosition.ShardEnd) {
      // Its end may have to be polled.
      clients.prepare(range.shard.stream, ClientKind.Calls)
      reader.shardIsClosed()
    }
    reader
  }
}

object TaskReaders {

  /** A range's records, till they are closed. They are asked for only where it is ready. */
  trait Records extends Iterator[KinesisRecord] with AutoCloseable {

    /** Whether it needn't wait: there is a record, or none will come. */
    def isReady: Boolean

    /** Of the reader that brings records now, if one does. */
    def memory: Option[MemoryBudget.Account]
  }

  private final class Buffered(records: Iterator[KinesisRecord]) extends Records {
    override def hasNext: Boolean                     = records.hasNext
    override def next(): KinesisRecord                = records.next()
    override def isReady: Boolean                     = true
    override def memory: Option[MemoryBudget.Account] = None
    override def close(): Unit                        = ()
  }
}
