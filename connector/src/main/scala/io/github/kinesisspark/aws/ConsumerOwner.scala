package io.github.kinesisspark.aws

import io.github.kinesisspark.config.{ConsumerChoice, Deregistration, RegistrationTime}

/** For whom a stream consumer was registered, by the value of its tag [[io.github.kinesisspark.config.FanOutOptions.OwnerTag]]. The call that
  * registers the consumer sets the tag and the service keeps it: a query knows its consumers after its driver was killed, and after the
  * answer of RegisterStreamConsumer was lost.
  *
  * @param tag the tag's value
  */
private[aws] sealed abstract class ConsumerOwner(val tag: String) extends Product with Serializable

private[aws] object ConsumerOwner {

  /** @param id of the streaming query, which its checkpoint keeps over all runs */
  final case class Query(id: String) extends ConsumerOwner(id)

  /** Registered by `load()`, before there is a query. The first query that reads through the consumer takes it over. */
  case object Unstarted extends ConsumerOwner("unstarted")

  def of(tag: String): ConsumerOwner = if (tag == Unstarted.tag) Unstarted else Query(tag)
}

/** What a query does at its end with the consumer of a stream. */
private[aws] sealed trait ConsumerEnd extends Product with Serializable

private[aws] object ConsumerEnd {
  case object Keep       extends ConsumerEnd
  case object Deregister extends ConsumerEnd

  /** Deregister the consumer if it has one of these owners. */
  final case class DeregisterIfOf(owners: Set[ConsumerOwner]) extends ConsumerEnd

  /** @param isRegisteredHere by this JVM, for this query
    * @param query            none in a batch read
    * @param hasRival         another reader has taken one of the query's consumers. That may be another driver of the same query, whose consumers have the
    *                         same tag
    */
  def of(
      choice: ConsumerChoice,
      isRegisteredHere: Boolean,
      query: Option[ConsumerOwner.Query],
      hasRival: Boolean
  ): ConsumerEnd =
    choice match {
      case ConsumerChoice.Given(_)                                                          => Keep
      case ConsumerChoice.Registered(_, _, Deregistration.OfNone)                           => Keep
      case ConsumerChoice.Registered(_, _, _) if hasRival && !isRegisteredHere              => Keep
      case ConsumerChoice.Registered(_, _, Deregistration.OfAll)                            => Deregister
      case ConsumerChoice.Registered(_, _, Deregistration.OfRegistered) if isRegisteredHere => Deregister
      case ConsumerChoice.Registered(_, when, Deregistration.OfRegistered)                  =>
        val byLoad = Option.when[ConsumerOwner](when == RegistrationTime.Eager)(ConsumerOwner.Unstarted)
        query.fold[ConsumerEnd](Keep)(own => DeregisterIfOf(Set[ConsumerOwner](own) ++ byLoad))
    }
}
