package io.github.kinesisspark.write.pack

import scala.collection.mutable

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aggregation.Aggregator
import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.position.Shard
import io.github.kinesisspark.write.send.Entry

/** Makes Kinesis records of one task's rows, on the task's thread or its timer. The caller sends the records it returns. */
private[write] trait Packing {

  def add(rows: Vector[Entry]): Vector[Entry]

  /** The records of all rows that are held and can be sent. */
  def flush(): Vector[Entry]

  def taken(record: Entry, shardId: String): Vector[Entry]

  /** The service will never take the record. */
  def rejected(record: Entry): Vector[Entry]

  /** Whether rows wait for an answer, so that what is to be sent must not wait for more. */
  def awaitsAnswers: Boolean

  /** Rows that are not written yet. */
  def heldRows: Int

  /** What they take in memory, besides the records that were made of them. */
  def heldBytes: Long

  /** Rows that are written. */
  def rows: Long
}

private[write] object Packing {

  /** Each row is a Kinesis record. */
  final class Plain extends Packing {
    private var held    = 0
    private var written = 0L

    override def add(rows: Vector[Entry]): Vector[Entry] = {
      held += rows.size
      rows
    }

    override def flush(): Vector[Entry] = Vector.empty

    override def taken(record: Entry, shardId: String): Vector[Entry] = {
      written += 1
      rejected(record)
    }

    override def rejected(record: Entry): Vector[Entry] = {
      held -= 1
      Vector.empty
    }

    override def awaitsAnswers: Boolean = false
    override def heldRows: Int          = held
    override def heldBytes: Long        = 0
    override def rows: Long             = written
  }

  /** Several rows share a Kinesis record: see [[StreamPacking]].
    *
    * @param list a stream's shards, closed ones too; asked at a stream's first row, and when an answer names another one
    */
  final class Aggregated(limits: Aggregator.Limits, ordered: Boolean, list: StreamRef => Vector[Shard])
      extends Packing {
    private val streams = mutable.Map.empty[StreamRef, StreamPacking]

    override def add(rows: Vector[Entry]): Vector[Entry] = rows.flatMap { row =>
      val stream = streams.getOrElseUpdate(row.stream, StreamPacking.of(limits, ordered, list(row.stream)))
      settle(row.stream, stream.add(row))
    }

    override def flush(): Vector[Entry] =
      streams.toVector.flatMap { case (name, stream) => settle(name, stream.flush) }

    override def taken(record: Entry, shardId: String): Vector[Entry] = {
      val name  = record.stream
      val known = streams(name)
      val ready = if (known.knows(shardId)) known else known.relisted(list(name))
      val step  = ready.taken(record, shardId)
      if (ready ne known) log.info(s"Stream $name has been resharded: shard $shardId took a record in")
      if (known.trusted && !step._1.trusted)
        log.warn(
          s"Stream $name: shard $shardId took in a record with hash key ${record.hashKey}, which by ListShards isn't its. " +
            "The rest of this task is written without aggregation"
        )
      settle(name, step)
    }

    override def rejected(record: Entry): Vector[Entry] =
      settle(record.stream, streams(record.stream).rejected(record))

    override def awaitsAnswers: Boolean = streams.valuesIterator.exists(_.awaitsAnswers)
    override def heldRows: Int          = streams.valuesIterator.map(_.heldRows).sum
    override def heldBytes: Long        = streams.valuesIterator.map(_.heldBytes).sum
    override def rows: Long             = streams.valuesIterator.map(_.rows).sum

    private def settle(name: StreamRef, step: StreamPacking.Step): Vector[Entry] = {
      streams.update(name, step._1)
      step._2
    }
  }

  private val log = LoggerFactory.getLogger(classOf[Packing])
}
