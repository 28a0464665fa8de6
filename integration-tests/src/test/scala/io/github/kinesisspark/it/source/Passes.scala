package io.github.kinesisspark.it.source

import io.github.kinesisspark.it.KinesisTarget
import io.github.kinesisspark.it.KinesisTarget.{RealisticAlpn, RealisticTls}

/** On which targets scenarios run, and how they read there.
  *
  * The two realistic targets are one server, and differ only in how HTTP/2 is agreed on. Calls other than SubscribeToShard use
  * HTTP/1.1, so what polls or writes runs on one of them.
  */
object Passes {
  def reading(targets: Seq[KinesisTarget]): Seq[(KinesisTarget, Mode)] = for {
    target <- targets
    mode   <- Mode.both
    if mode == Mode.FanOut || isOwnServer(target, targets)
  } yield target -> mode

  def writing(targets: Seq[KinesisTarget]): Seq[KinesisTarget] = targets.filter(isOwnServer(_, targets))

  private def isOwnServer(target: KinesisTarget, targets: Seq[KinesisTarget]) =
    target != RealisticAlpn || !targets.contains(RealisticTls)
}
