package io.github.kinesisspark.read.reader

import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.ShardPosition.ShardEnd
import io.github.kinesisspark.position.{ShardKey, ShardPosition, ShardRange}
import io.github.kinesisspark.read.reader.ShardConsumer._
import io.github.kinesisspark.runtime.Runtime

/** The records of one range for one task, exactly those, whatever has been added to the stream since.
  *
  * It takes them out of readers, answer by answer, on the task's own thread, which `wakeUp` wakes:
  * {{{
  * source        the records come from            if it can't bring the next one
  * Source.live   the reader that the query keeps  Source.poller from there on: another task has taken it further, it is closed, or it is silent
  * Source.own    a subscription of the task       Source.poller from there on: its consumer is gone or taken over, or it is silent
  * Source.poller a poller of the task             the range has lost records: it has passed the range's end, there is no more, or the shard
  *                                                is gone: it is not found, and a listing after that lacks it
  * }}}
  * A range whose first or last record is gone has lost records, which `failOnDataLoss` decides on.
  *
  * @param sources    to be closed by whoever gave them
  * @param doubtAfter how long a shard must have nothing more before records that were planned count as gone
  * @param wakeUp     is signalled when readers have news
  */
final class ShardConsumer(
    range: ShardRange,
    sources: Sources,
    failOnDataLoss: Boolean,
    wakeUp: WakeUp,
    doubtAfter: FiniteDuration = ShardReader.DoubtAfter
)(implicit runtime: Runtime)
    extends TaskReaders.Records {
  private val log      = LoggerFactory.getLogger(classOf[ShardConsumer])
  private var position = range.start
  private var current  = Iterator[KinesisRecord]()
  private var finished = range.start == range.end
  private var source   = Option.empty[Source]
  private val news     = () => wakeUp.signal()

  if (!finished) begin(sources.first(range))

  /** Takes what there is. */
  override def isReady: Boolean = {
    while (!current.hasNext && !finished && advance()) ()
    current.hasNext || finished
  }

  override def memory: Option[MemoryBudget.Account] = source.map(_.reader.memory)

  override def hasNext: Boolean = current.hasNext

  override def next(): KinesisRecord = current.next()

  override def close(): Unit = {
    end()
    finished = true
  }

  /** Reading ahead begins before anybody asks for a record. */
  private def begin(by: Source): Unit = {
    source = Some(by)
    by.reader.listen(news)
    by.reader.demand()
  }

  private def end(): Unit = {
    source.foreach { by =>
      by.reader.unlisten(news)
      by.close()
    }
    source = None
  }

  /** Whether that changed anything. */
  private def advance(): Boolean = source.exists { from =>
    from.reader.advance(position) match {
      case Some(head) if head.until != position =>
        accept(from, head)
        true
      case Some(_) => from.reader.standstill(position).forall(isOver(from, _))
      case None    => poll("its reader has continued without this task")
    }
  }

  private def accept(from: Source, head: RecordBuffer.Head): Unit = {
    val isFirst = position == range.start
    val all     = head.records.toArray
    val within  = RangeEnds.before(range.end, all)
    if (from.isOwn) sources.readAgain(range.shard, within)
    position = head.until
    current = within.iterator
    val now = reached(from, all)
    if (now == RangeEnds.Passed) lose(None): Unit
    else {
      if (isFirst && !RangeEnds.hasFirst(range.start, within.headOption.map(_.sequenceNumber))) report(None)
      if (now == RangeEnds.AtEnd) {
        if (!from.isOwn) from.reader.leave(range.end)
        close()
      }
    }
  }

  /** A reader that stops at the range's end has looked behind it. */
  private def reached(from: Source, all: Array[KinesisRecord]): RangeEnds.Reach =
    if (position != range.end) RangeEnds.reach(range.end, all, position)
    else if (from.reader.missesStop) RangeEnds.Passed
    else RangeEnds.AtEnd

  /** Whether nothing more is to be waited for, from this source. */
  private def isOver(from: Source, why: ShardReader.Standstill): Boolean = why.failure match {
    case Some(cause) if !from.isPolling && MayBeOfReader(cause.reason) => poll(cause.getMessage)
    case Some(cause) if showsLoss(cause)                               => lose(Some(cause))
    case Some(cause)                                                   => throw cause
    case None if why.isClosed                                          => poll("its reader was closed")
    case None if isSilent(why) && !from.isPolling                      => poll("it brings no records")
    case None if isSilent(why) && isGone(why)                          => lose(None)
    case None                                                          => false
  }

  /** One answer that the shard is not found is no reason to leave its records out; another attempt of the task may find it. */
  private def showsLoss(cause: KinesisException) =
    cause.reason == FailureReason.NotFound && sources.isGone(range.shard)

  /** One answer without records is no reason to doubt that the range has any; several are. */
  private def isSilent(why: ShardReader.Standstill) = why.emptyFor.exists(_ >= doubtAfter)

  private def isGone(why: ShardReader.Standstill) = why.nothingMore && range.end != ShardEnd

  private def poll(why: String): Boolean = {
    runtime.lines.warn(log, s"polling ${range.shard.stream}", range.shard)(
      s"${range.shard} is read on by polling: $why"
    )
    end()
    begin(sources.polling(range.copy(start = position)))
    true
  }

  private def lose(cause: Option[KinesisException]): Boolean = {
    report(cause)
    close()
    true
  }

  private def report(cause: Option[KinesisException]): Unit = DataLoss.ofTask(
    s"Records of ${range.shard} between ${ShardPosition.encode(range.start)} and ${ShardPosition.encode(range.end)}$perhaps were " +
      "planned into a batch and are no longer in the stream",
    failOnDataLoss,
    log,
    cause
  )

  /** Only a shard that is there shows whether it has any between a record and its end. */
  private def perhaps =
    if (range.end == ShardEnd && RangeEnds.hasFirst(range.start, None)) ", if there were any," else ""
}

object ShardConsumer {

  /** Where a task's records come from.
    *
    * @param isPolling by the task's own poller, which decides what is there and what is gone
    * @param isOwn     the reader is the task's, and closed with it
    */
  final case class Source(reader: ShardReader, isPolling: Boolean, isOwn: Boolean) extends AutoCloseable {
    override def close(): Unit = if (isOwn) reader.close()
  }

  object Source {
    def live(reader: ShardReader): Source   = Source(reader, isPolling = false, isOwn = false)
    def own(reader: ShardReader): Source    = Source(reader, isPolling = false, isOwn = true)
    def poller(reader: ShardReader): Source = Source(reader, isPolling = true, isOwn = true)
  }

  /** Opens readers of ranges, all of them at their starts. */
  trait Sources {

    /** The nearest, or cheapest. */
    def first(range: ShardRange): Source

    def polling(range: ShardRange): Source

    /** Whether a new listing lacks the shard, which was not found. Blocks.
      *
      * @throws KinesisException where the listing fails
      */
    def isGone(shard: ShardKey): Boolean

    /** Counts what a source of the task's own brings. */
    def readAgain(shard: ShardKey, records: Array[KinesisRecord]): Unit
  }

  /** What may be about the reader or its consumer, and not the shard: an Error ended it, the consumer is gone, or somebody else reads through it. */
  private val MayBeOfReader =
    Set[FailureReason](FailureReason.NotFound, FailureReason.ConsumerTaken, FailureReason.BrokenJvm)
}

/** Where a task waits for any of its readers. */
final class WakeUp(implicit runtime: Runtime) {
  private var isSignalled = false

  /** From any thread. */
  def signal(): Unit = synchronized {
    isSignalled = true
    runtime.waits.signal(this)
  }

  /** Until it was signalled since the last time, or for so long that it is time to look whether the task still runs and a silent reader is
    * to be doubted.
    */
  def await(): Unit = synchronized {
    runtime.waits.until(this, WakeUp.Longest)(isSignalled)
    isSignalled = false
  }
}

object WakeUp {
  private val Longest = 500.millis
}
