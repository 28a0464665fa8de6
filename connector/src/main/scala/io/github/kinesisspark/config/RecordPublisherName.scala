package io.github.kinesisspark.config

/** The words of `recordPublisher`; what they mean with all their options is [[RecordPublisherConfig]]. */
sealed trait RecordPublisherName extends Product with Serializable

object RecordPublisherName {
  case object Polling extends RecordPublisherName
  case object Efo     extends RecordPublisherName
}
