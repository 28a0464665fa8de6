package io.github.kinesisspark.it.source

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{ForeachWriter, Row}

/** One row as a real-time query handed it on.
  *
  * @param attempt of the task, of all there are
  */
final case class LoggedRow(
    batch: Long,
    task: Long,
    attempt: Long,
    shardId: String,
    sequenceNumber: BigInt,
    text: String
)

/** A sink in memory that takes each row when it comes. Rows have to be `shardId`, `sequenceNumber` and a text.
  *
  * @param use   may refuse a row, after it has been taken
  * @param atEnd of an attempt that has not failed, given whether it had rows; may fail it
  */
final class RealTimeLog(use: LoggedRow => Unit = _ => (), private val atEnd: Boolean => Unit = _ => ()) {
  private val id     = UUID.randomUUID()
  private val logged = new ConcurrentLinkedQueue[LoggedRow]
  RealTimeLog.logs.put(id, this)

  def writer: ForeachWriter[Row] = new RealTimeLog.Writer(id)

  def rows: Vector[LoggedRow] = logged.asScala.toVector
  def texts: Vector[String]   = rows.map(_.text)

  private def add(row: LoggedRow): Unit = {
    logged.add(row)
    use(row)
  }
}

object RealTimeLog {

  /** Tasks run in this JVM, but their writers are copies. */
  private val logs     = new ConcurrentHashMap[UUID, RealTimeLog]
  private val attempts = new java.util.concurrent.atomic.AtomicLong

  private final class Writer(log: UUID) extends ForeachWriter[Row] {
    private var task    = 0L
    private var batch   = 0L
    private var attempt = 0L
    private var hasRows = false

    override def open(partition: Long, epoch: Long): Boolean = {
      task = partition
      batch = epoch
      attempt = attempts.incrementAndGet()
      true
    }

    override def process(row: Row): Unit = {
      hasRows = true
      logs.get(log).add(LoggedRow(batch, task, attempt, row.getString(0), BigInt(row.getString(1)), row.getString(2)))
    }

    override def close(error: Throwable): Unit = if (error == null) logs.get(log).atEnd(hasRows)
  }
}
