package io.github.kinesisspark.write.send

/** What became of a call. */
sealed trait CallAnswer

object CallAnswer {

  /** The service looked at each record: in the call's order. */
  final case class PerRecord(results: Vector[RecordAnswer]) extends CallAnswer

  /** The call as a whole failed. The service may have taken its records nevertheless, where the answer got lost. */
  final case class Failed(failure: CallFailure, error: Throwable) extends CallAnswer
}

/** What became of one record of a call. */
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

/** What a failed call means for whoever sent it. */
sealed trait CallFailure

object CallFailure {

  /** Worth another try for as long as it takes: limits, trouble of the service's own, lost connections. */
  final case class Passing(throttled: Boolean) extends CallFailure

  /** It may pass, but is more likely a mistake, as nothing has worked yet: no such host, a wrong clock. */
  case object Doubtful extends CallFailure

  /** The service can't use the request: it is too large, for all that can be wrong with ours. */
  case object Invalid extends CallFailure

  /** No further try helps. */
  case object Hopeless extends CallFailure
}
