package io.github.kinesisspark.config

/** The words of `recordPublisher`; what they mean with all their options is [[RecordPublisherKind]]. */
sealed trait PublisherWord extends Product with Serializable

object PublisherWord {
  case object Polling extends PublisherWord
  case object Efo     extends PublisherWord
}
