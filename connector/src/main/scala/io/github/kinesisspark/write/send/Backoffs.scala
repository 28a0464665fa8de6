package io.github.kinesisspark.write.send

import scala.concurrent.duration._

import io.github.kinesisspark.aws.Backoff

/** How long what was refused waits. */
private[send] object Backoffs {

  /** On top of the shard's pace. */
  val ofShard: Backoff = Backoff(100.millis, 5.seconds)

  /** A stream whose calls fail as a whole. */
  val ofStream: Backoff = Backoff(200.millis, 10.seconds)
}
