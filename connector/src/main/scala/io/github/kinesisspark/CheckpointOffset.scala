package io.github.kinesisspark

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.github.kinesisspark.position.{KinesisOffset, OffsetException, OffsetJson}

/** Where a stopped query goes on, as its checkpoint tells: the end of its last committed batch. */
object CheckpointOffset {

  /** Of all Kinesis sources of the query together; without any stream where no batch was committed yet.
    *
    * @param checkpoint the query's `checkpointLocation`, on any file system that Hadoop knows
    * @throws OffsetException     where that is no checkpoint, or of a query that doesn't read Kinesis, or of a later version
    * @throws java.io.IOException where it can't be read
    */
  def committed(checkpoint: String, hadoop: Configuration): KinesisOffset = {
    val root  = new Path(checkpoint)
    val files = root.getFileSystem(hadoop)
    if (!files.exists(new Path(root, "offsets")))
      throw new OffsetException(
        s"$checkpoint is no checkpoint: it has no directory 'offsets'. Name the query's checkpointLocation."
      )
    val ours = lastOf(files, new Path(root, "commits")).toVector.flatMap { batch =>
      val found =
        read(files, new Path(root, s"offsets/$batch")).linesIterator.filter(isOurs).map(OffsetJson.read).toVector
      if (found.isEmpty)
        throw new OffsetException(
          s"$checkpoint is the checkpoint of a query that doesn't read Kinesis by this connector."
        )
      found
    }
    KinesisOffset(ours.flatMap(_.streams).toMap)
  }

  /** Beside the sources' offsets a batch's file holds a version and the batch's own settings, one in a line. */
  private def isOurs(line: String) = line.startsWith("{\"version\":") && line.contains("\"streams\":")

  private def lastOf(files: FileSystem, log: Path): Option[Long] =
    if (!files.exists(log)) None
    else files.listStatus(log).iterator.flatMap(_.getPath.getName.toLongOption).maxOption

  private def read(files: FileSystem, file: Path): String = {
    val in = files.open(file)
    try new String(in.readAllBytes(), UTF_8)
    finally in.close()
  }
}
