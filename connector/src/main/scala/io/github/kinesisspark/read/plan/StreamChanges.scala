package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.{KinesisOffset, StreamArn}

/** What has become of a checkpoint's streams since it was written.
  *
  * A stream that is read and not in the checkpoint is no change here: it begins at its starting position.
  *
  * @param kept      the checkpoint's part that is still about streams which are read
  * @param removed   streams of the checkpoint that aren't read any more, by their ARN's text
  * @param recreated streams that were deleted and created again: positions of the one mean nothing in the other
  */
final case class StreamChanges(
    kept: KinesisOffset,
    removed: Vector[StreamArn],
    recreated: Vector[StreamChanges.Recreated]
)

object StreamChanges {

  /** Both times in ms since 1970. */
  final case class Recreated(arn: StreamArn, createdThen: Long, createdNow: Long)

  /** @param reading the streams that are read, with their creation times */
  def since(checkpoint: KinesisOffset, reading: Map[StreamArn, Long]): StreamChanges = {
    val (known, removed) = checkpoint.streams.partition { case (arn, _) => reading.contains(arn) }
    StreamChanges(
      checkpoint.copy(streams = known),
      removed.keys.toVector.sortBy(_.text),
      known.iterator
        .collect {
          case (arn, stored) if stored.createdMillis != reading(arn) =>
            Recreated(arn, stored.createdMillis, reading(arn))
        }
        .toVector
        .sortBy(_.arn.text)
    )
  }
}
