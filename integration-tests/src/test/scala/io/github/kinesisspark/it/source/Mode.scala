package io.github.kinesisspark.it.source

import io.github.kinesisspark.it.TestRun

/** Polling or fan-out, with the call that gets records and the options that select it. */
sealed abstract class Mode(val name: String, val readCall: String, val options: Map[String, String]) {
  override def toString: String = name
}

object Mode {

  /** The stream consumer of queries that read by fan-out. */
  val Consumer: String = TestRun.named("it")

  case object Polling extends Mode("polling", "GetRecords", Map.empty)
  case object FanOut
      extends Mode(
        "fan-out",
        "SubscribeToShard",
        Map("recordPublisher" -> "efo", "efo.consumerName" -> Consumer)
      )

  /** A method, because `FanOut` may be the first that is used, and its initializer then runs that of this object. */
  def both: Seq[Mode] = Seq(Polling, FanOut)
}
