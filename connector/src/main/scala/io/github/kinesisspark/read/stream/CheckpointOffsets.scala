package io.github.kinesisspark.read.stream

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.github.kinesisspark.position.{KinesisOffset, OffsetException, StreamArn}

/** The offset log of a query's checkpoint, a file for each batch ([[OffsetLogFile]]); and which of the batches are committed.
  *
  * A source is named as in the query (`DataStreamReader.name` of Spark 4.2), one without a name by its number, from 0. It has to be named
  * only where the query has several sources of this connector.
  */
final class CheckpointOffsets private (checkpoint: String, files: FileSystem) {
  private val offsetLog = new Path(checkpoint, "offsets")
  private val commitLog = new Path(checkpoint, "commits")

  if (!files.exists(offsetLog))
    throw new OffsetException(
      s"$checkpoint is not a checkpoint: it has no directory 'offsets'. Name the query's checkpointLocation."
    )

  /** Where a batch ended: the named one, or else the last one that is committed. The records of a batch that was only planned may not be in the sink.
    *
    * @throws OffsetException where there is no such batch, or it has no such source, or several and none is named
    */
  def end(batch: Option[Long], source: Option[String]): KinesisOffset = {
    val id = batch
      .orElse(batches(commitLog).lastOption)
      .getOrElse(
        refuse(
          s"has no committed batch yet; planned are ${span(batches(offsetLog))}. Name one of these if it doesn't matter that the sink " +
            "may not have got it"
        )
      )
    only(id, source)._2
  }

  /** Where a batch began and where it ended. A source that the query has got since the batch before began without any stream.
    *
    * @throws OffsetException as [[end]]
    */
  def ends(batch: Long, source: Option[String]): (KinesisOffset, KinesisOffset) = {
    val (name, end) = only(batch, source)
    val before      =
      if (batch == 0) None
      else file(batch).before(name, file(batch - 1)).fold(has => refuse(s"has in batch $batch $has"), identity)
    (before.getOrElse(KinesisOffset.initial), end)
  }

  /** Where the query continues in some streams: the end of its last committed batch; without any stream where no batch was committed
    * yet.
    *
    * @throws OffsetException where no source is this connector's, or several read one of the streams and none is named
    */
  def lastCommitted(source: Option[String], isAsked: StreamArn => Boolean): KinesisOffset =
    batches(commitLog).lastOption.fold(KinesisOffset.initial) { id =>
      val all    = ours(id)
      val chosen = source.fold(all)(name => Vector(named(name, all, id)))
      val found  = for {
        (name, offset) <- chosen
        (arn, stream)  <- offset.streams
        if isAsked(arn)
      } yield (arn, stream, name)
      found.groupBy(_._1).find(_._2.size > 1).foreach { case (arn, readers) =>
        refuse(s"reads $arn by several sources, ${listed(readers.map(_._3))}. Name the one that is meant")
      }
      KinesisOffset(found.map { case (arn, stream, _) => arn -> stream }.toMap)
    }

  private def only(batch: Long, source: Option[String]): (String, KinesisOffset) = {
    val all = ours(batch)
    source.fold(
      all match {
        case Vector(one) => one
        case several     =>
          refuse(
            s"has ${several.size} Kinesis sources in batch $batch, ${listed(several.map(_._1))}. Name the one that is meant"
          )
      }
    )(named(_, all, batch))
  }

  private def named(name: String, all: Vector[(String, KinesisOffset)], batch: Long): (String, KinesisOffset) =
    all
      .find(_._1 == name)
      .getOrElse(refuse(s"has no Kinesis source '$name' in batch $batch; it has ${listed(all.map(_._1))}"))

  private def ours(batch: Long): Vector[(String, KinesisOffset)] = {
    val found = file(batch).sources
    if (found.isEmpty) refuse(s"has no Kinesis source of this connector in batch $batch")
    found
  }

  private def file(batch: Long): OffsetLogFile = {
    val known = batches(offsetLog)
    if (!known.contains(batch)) refuse(s"has no batch $batch in its offset log; it has ${span(known)}")
    val text =
      Using.resource(files.open(new Path(offsetLog, batch.toString)))(in => new String(in.readAllBytes(), UTF_8))
    OffsetLogFile.read(text).fold(has => refuse(s"has $has"), identity)
  }

  private def span(batches: Vector[Long])   = batches.headOption.fold("none")(first => s"$first to ${batches.last}")
  private def listed(names: Vector[String]) = names.sorted.map(name => s"'$name'").mkString(", ")

  private def batches(log: Path): Vector[Long] =
    if (!files.exists(log)) Vector.empty
    else files.listStatus(log).toVector.flatMap(_.getPath.getName.toLongOption).sorted

  private def refuse(what: String) = throw new OffsetException(s"The checkpoint $checkpoint $what.")
}

object CheckpointOffsets {

  /** @param checkpoint the query's `checkpointLocation`, on any file system that Hadoop knows
    * @throws OffsetException     where that is not a checkpoint
    * @throws java.io.IOException where it can't be read
    */
  def in(checkpoint: String, hadoop: Configuration): CheckpointOffsets =
    new CheckpointOffsets(checkpoint, new Path(checkpoint).getFileSystem(hadoop))
}
