package io.github.kinesisspark.it.source

/** How the source is to read, as its options say it. */
sealed abstract class Mode(val name: String, val options: Map[String, String]) {
  override def toString: String = name
}

object Mode {
  case object Polling extends Mode("polling", Map.empty)
  case object FanOut  extends Mode("fan-out", Map("recordPublisher" -> "efo", "efo.consumerName" -> "it"))

  val both: Seq[Mode] = Seq(Polling, FanOut)
}
