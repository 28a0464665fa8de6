package io.github.kinesisspark.write.pack

import scala.collection.mutable

import org.slf4j.LoggerFactory

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

  /** What they take in memory, with the records that were made of them and have not been returned. */
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
    * @param maxBytes of a Kinesis record
    * @param list     a stream's shards, closed ones too; asked at a stream's first row, and when an answer names another one
    */
  final class Aggregated(maxBytes: Int, ordered: Boolean, list: StreamRef => Vector[Shard]) extends Packing {
    private val streams = mutable.Map.empty[StreamRef, StreamPacking]

    // Mostly the next row is for the same stream.
    private var recent = Option.empty[(StreamRef, StreamPacking)]

    override def add(rows: Vector[Entry]): Vector[Entry] = {
      val records = Vector.newBuilder[Entry]
      rows.foreach { row =>
        val full = packingOf(row.stream).add(row)
        if (full.nonEmpty) records ++= full
      }
      records.result()
    }

    private def packingOf(stream: StreamRef) = recent match {
      case Some((same, packing)) if same eq stream => packing
      case _                                       =>
        val packing = streams.getOrElseUpdate(stream, new StreamPacking(maxBytes, ordered, list(stream)))
        recent = Some((stream, packing))
        packing
    }

    override def flush(): Vector[Entry] = streams.valuesIterator.flatMap(_.flush()).toVector

    override def taken(record: Entry, shardId: String): Vector[Entry] = {
      val name    = record.stream
      val packing = streams(name)
      if (!packing.knows(shardId)) {
        packing.relist(list(name))
        log.info(s"Stream $name has been resharded: shard $shardId took a record in")
      }
      val wasTrusted = packing.trusted
      val ready      = packing.taken(record, shardId)
      if (wasTrusted && !packing.trusted)
        log.warn(
          s"Stream $name: shard $shardId took in a record with hash key ${record.hashKey}, which by ListShards isn't its. " +
            "The rest of this task is written without aggregation"
        )
      ready
    }

    override def rejected(record: Entry): Vector[Entry] = streams(record.stream).rejected(record)

    override def awaitsAnswers: Boolean = streams.valuesIterator.exists(_.awaitsAnswers)
    override def heldRows: Int          = streams.valuesIterator.map(_.heldRows).sum
    override def heldBytes: Long        = streams.valuesIterator.map(_.heldBytes).sum
    override def rows: Long             = streams.valuesIterator.map(_.rows).sum
  }

  private val log = LoggerFactory.getLogger(classOf[Packing])
}
