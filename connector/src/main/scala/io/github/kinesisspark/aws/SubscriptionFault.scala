package io.github.kinesisspark.aws

/** What the end of a subscription (SubscribeToShard, its events and the connection beneath) means for the next one. How long
  * to wait is the caller's policy; which failure is which is [[FaultClassifier]]'s.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]],
  *      [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShardEventStream.html its events]]
  */
sealed trait SubscriptionFault extends Product with Serializable {
  def fault: Fault
}

object SubscriptionFault {

  /** The connection ended or went silent. Of a subscription that was open already that is everyday life, and the next one can begin
    * at once; one that never came to be open has failed and is to be counted.
    */
  final case class Dropped(fault: Fault) extends SubscriptionFault

  /** Another subscription holds the shard, or a limit is used up: again after a pause, for ever. */
  final case class Busy(fault: Fault) extends SubscriptionFault

  /** Trouble that usually passes, but need not: again after a pause, a limited number of times in a row. */
  final case class Unwell(fault: Fault) extends SubscriptionFault

  /** The shard, the stream or the consumer isn't there. Never by itself the end of a shard: ask which of them is gone. */
  final case class Gone(fault: Fault) extends SubscriptionFault

  /** Trying again doesn't help. */
  final case class Fatal(fault: Fault) extends SubscriptionFault
}
