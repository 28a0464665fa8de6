package io.github.kinesisspark.it.source

/** Polling or fan-out, with the options that select it. */
sealed abstract class Mode(val name: String, val options: Map[String, String]) {
  override def toString: String = name
}

object Mode {
  case object Polling extends Mode("polling", Map.empty)
  case object FanOut  extends Mode("fan-out", Map("recordPublisher" -> "efo", "efo.consumerName" -> "it"))

  val both: Seq[Mode] = Seq(Polling, FanOut)
}
