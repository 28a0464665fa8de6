package io.github.kinesisspark.it.source

import io.github.kinesisspark.it.KinesisTarget
import io.github.kinesisspark.it.KinesisTarget.{RealisticAlpn, RealisticTls}

/** On which of the chosen targets a suite runs, and how it reads there.
  *
  * The two realistic targets are one server, and differ only in how HTTP/2 is agreed on. Calls other than SubscribeToShard use
  * HTTP/1.1, so what does not read by fan-out runs on one of them.
  */
object Passes {

  /** Each target by polling and by fan-out. */
  def reading(targets: Seq[KinesisTarget]): Seq[(KinesisTarget, Mode)] = for {
    target <- targets
    mode   <- Mode.both
    if mode == Mode.FanOut || servers(targets).contains(target)
  } yield target -> mode

  /** Each server once. */
  def servers(targets: Seq[KinesisTarget]): Seq[KinesisTarget] =
    if (targets.contains(RealisticTls)) targets.filter(_ != RealisticAlpn) else targets
}
