package io.github.kinesisspark.it.source

import io.github.kinesisspark.it.TestRun

/** Polling or fan-out.
  *
  * @param readCall     the call that gets records
  * @param options      select it for queries
  * @param batchOptions select it for batch reads, with another stream consumer, because queries deregister theirs
  */
sealed abstract class Mode(
    val name: String,
    val readCall: String,
    val options: Map[String, String],
    val batchOptions: Map[String, String]
) {
  override def toString: String = name
}

object Mode {

  /** The stream consumer of queries that read by fan-out. */
  val Consumer: String = TestRun.named("it")

  case object Polling extends Mode("polling", "GetRecords", Map.empty, Map.empty)
  case object FanOut  extends Mode("fan-out", "SubscribeToShard", fanOut(Consumer), fanOut(TestRun.named("batch")))

  /** A method, because `FanOut` may be the first that is used, and its initializer then runs that of this object. */
  def both: Seq[Mode] = Seq(Polling, FanOut)

  private def fanOut(consumer: String) = Map("recordPublisher" -> "efo", "efo.consumerName" -> consumer)
}
