package io.github.kinesisspark.write

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.github.kinesisspark.config.{OptionValue, StreamRef}
import io.github.kinesisspark.error.OneLine
import io.github.kinesisspark.position.HashKey
import io.github.kinesisspark.write.send.{BadRecord, Entry, RowId}

/** Makes records of one task's rows, or says why a row can never be written. Checks all that doesn't depend on the stream.
  *
  * @param stream for rows that don't name theirs
  * @param run    see [[RowId]]
  */
private[write] final class RowReader(columns: SinkColumns, stream: Option[StreamRef], run: String, task: Int) {
  import RowReader._

  private var next    = 0L
  private val named   = mutable.Map.empty[UTF8String, Either[String, StreamRef]]
  private val default = stream.toRight("targetStream is null, and no option names the stream.")

  def read(row: InternalRow): Either[BadRecord, Entry] = {
    val id = RowId(run, task, next)
    next += 1
    // Matches, where folds would call functions for each row.
    val to  = streamOf(row)
    val key = columns.partitionKey match {
      case Some(at) => partitionKey(row, at)
      case None     => Right(id.toString)
    }
    val hash = columns.explicitHashKey match {
      case Some(at) => explicitHashKey(row, at)
      case None     => NoHashKey
    }

    def bad(why: String) = Left(BadRecord(id, to.toOption, key.toOption, why))
    // One match, where a chain of steps would make several objects for each row.
    (to, key, hash, data(row)) match {
      case (Right(itsStream), Right(itsKey), Right(itsHash), Right(bytes)) =>
        val entry = new Entry(itsStream, itsKey, itsHash, bytes, id)
        if (entry.size <= Entry.MaxSize) Right(entry)
        else bad(s"it has ${entry.size} bytes with its key; 10 MiB is the most.")
      case (Left(why), _, _, _) => bad(why)
      case (_, Left(why), _, _) => bad(why)
      case (_, _, Left(why), _) => bad(why)
      case (_, _, _, Left(why)) => bad(why)
    }
  }

  private def data(row: InternalRow): Either[String, Array[Byte]] =
    if (row.isNullAt(columns.data)) Left("data is null.")
    else Right(if (columns.isText) row.getUTF8String(columns.data).getBytes else row.getBinary(columns.data))

  private def partitionKey(row: InternalRow, at: Int): Either[String, String] =
    if (row.isNullAt(at)) Left("partitionKey is null.")
    else {
      val key  = row.getUTF8String(at)
      val text = key.toString
      // Characters are counted only where there may be too many. Bytes that aren't UTF-8 are sent as characters, too.
      val length = if (key.numBytes <= Entry.MaxKeyLength) key.numBytes else text.codePointCount(0, text.length)
      if (length == 0) Left("partitionKey is empty.")
      else if (length > Entry.MaxKeyLength)
        Left(s"partitionKey has $length characters; ${Entry.MaxKeyLength} are the most.")
      else Right(text)
    }

  private def explicitHashKey(row: InternalRow, at: Int): Either[String, Option[BigInt]] =
    if (row.isNullAt(at)) NoHashKey
    else {
      val text = row.getUTF8String(at).toString
      HashKey
        .parse(text)
        .toRight(s"explicitHashKey is '${OneLine(text, 60)}'; it must be a whole number from 0 to 2^128-1.")
        .map(Some(_))
    }

  private def streamOf(row: InternalRow): Either[String, StreamRef] =
    columns.targetStream match {
      case Some(at) if !row.isNullAt(at) =>
        val name = row.getUTF8String(at)
        named.get(name) match {
          case Some(known) => known
          case None        =>
            val parsed = parse(name.toString)
            // The row's own memory is used again for the next row. Texts that name no stream may be as many as rows.
            if (parsed.isRight) named.update(name.copy(), parsed)
            parsed
        }
      case _ => default
    }

  private def parse(text: String) =
    (if (text.startsWith("arn:")) OptionValue.streamArn else OptionValue.streamName) (text).left
      .map(must => s"targetStream is '${OneLine(text, 200)}'; it $must.")
}

private object RowReader {
  private val NoHashKey: Either[String, Option[BigInt]] = Right(None)
}
