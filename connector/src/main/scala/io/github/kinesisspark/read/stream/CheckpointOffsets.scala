package io.github.kinesisspark.read.stream

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.github.kinesisspark.position.{KinesisOffset, OffsetException, OffsetJson}

/** The offset log of a query's checkpoint, a file for each batch, and a line in it for each source; and which of the batches are
  * committed.
  */
final class CheckpointOffsets private (checkpoint: String, files: FileSystem) {
  private val planned   = new Path(checkpoint, "offsets")
  private val committed = new Path(checkpoint, "commits")

  if (!files.exists(planned))
    throw new OffsetException(
      s"$checkpoint is no checkpoint: it has no directory 'offsets'. Name the query's checkpointLocation."
    )

  /** Where a batch ended; the last one that is committed, if none is named. One that was only planned may not have come to the sink.
    *
    * @throws OffsetException where there is no such batch, or none of this connector, or several sources of it
    */
  def of(batch: Option[Long]): KinesisOffset = {
    val known = batches(planned)
    def span  = known.headOption.fold("none")(first => s"$first to ${known.last}")
    val id    = batch
      .orElse(batches(committed).lastOption)
      .getOrElse(
        refuse(
          s"has no committed batch yet; planned are $span. Name one of these if it doesn't matter that the sink may not have got it"
        )
      )
    if (!known.contains(id)) refuse(s"has no batch $id in its offset log; it has $span")
    sources(id) match {
      case Vector(ours) => ours
      case several      =>
        refuse(
          s"has ${several.size} Kinesis sources in batch $id. Take the one that is meant from the query's progress"
        )
    }
  }

  /** Where the query continues: the end of its last committed batch, of all Kinesis sources together; without any stream where no
    * batch was committed yet.
    *
    * @throws OffsetException where no source is this connector's
    */
  def lastCommitted: KinesisOffset =
    KinesisOffset(batches(committed).lastOption.toVector.flatMap(sources).flatMap(_.streams).toMap)

  /** Beside the sources' offsets a batch's file holds a version and the batch's own settings, one in a line. */
  private def sources(batch: Long): Vector[KinesisOffset] = {
    val text = Using.resource(files.open(new Path(planned, batch.toString)))(in => new String(in.readAllBytes(), UTF_8))
    val ours = text.linesIterator.filter(line => line.startsWith("{\"version\":") && line.contains("\"streams\":"))
    val found = ours.map(OffsetJson.read).toVector
    if (found.isEmpty) refuse(s"has no Kinesis source of this connector in batch $batch")
    found
  }

  private def batches(log: Path): Vector[Long] =
    if (!files.exists(log)) Vector.empty
    else files.listStatus(log).toVector.flatMap(_.getPath.getName.toLongOption).sorted

  private def refuse(what: String) = throw new OffsetException(s"The checkpoint $checkpoint $what.")
}

object CheckpointOffsets {

  /** @param checkpoint the query's `checkpointLocation`, on any file system that Hadoop knows
    * @throws OffsetException     where that is no checkpoint
    * @throws java.io.IOException where it can't be read
    */
  def in(checkpoint: String, hadoop: Configuration): CheckpointOffsets =
    new CheckpointOffsets(checkpoint, new Path(checkpoint).getFileSystem(hadoop))
}
