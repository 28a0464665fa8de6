package io.github.kinesisspark.write.send

/** Why a task can't go on. */
sealed trait End

object End {

  /** Something that no further try mends, or a mistake that doesn't pass. */
  final case class Failed(error: Throwable) extends End

  /** A record was refused for too long.
    *
    * @param millis since its first refusal
    * @param shard  if it is known
    */
  final case class TooLong(
      record: Waiting,
      millis: Long,
      shard: Option[String],
      code: String,
      message: String,
      cause: Option[Throwable]
  ) extends End
}
