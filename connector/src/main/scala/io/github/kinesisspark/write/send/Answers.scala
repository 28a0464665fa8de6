package io.github.kinesisspark.write.send

import io.github.kinesisspark.aws.Fault

sealed trait CallAnswer

object CallAnswer {

  /** The service answered for each record, in the call's order. */
  final case class PerRecord(results: Vector[RecordAnswer]) extends CallAnswer {

    /** All of them, as mostly. */
    val areTaken: Boolean = results.forall(_.isInstanceOf[RecordAnswer.Taken])
  }

  /** The call as a whole failed. The service may have stored its records nevertheless, where the answer got lost.
    *
    * @param hasWorked whether a call of the client had succeeded by then
    */
  final case class Failed(fault: Fault, hasWorked: Boolean, error: Throwable) extends CallAnswer
}

/** The result of one record of a call. */
sealed trait RecordAnswer

object RecordAnswer {

  final case class Taken(shardId: String) extends RecordAnswer

  /** @param code such as `ProvisionedThroughputExceededException`; the message usually names the shard */
  final case class Refused(code: String, message: String) extends RecordAnswer {
    def isThrottling: Boolean = code == Refused.Throttling
  }

  object Refused {
    val Throttling = "ProvisionedThroughputExceededException"
  }
}
