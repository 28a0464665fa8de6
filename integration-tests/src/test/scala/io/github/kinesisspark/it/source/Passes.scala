package io.github.kinesisspark.it.source

import org.scalatest.Suite

import io.github.kinesisspark.it.{KinesisTarget, Targets}
import io.github.kinesisspark.it.KinesisTarget.{RealisticAlpn, RealisticTls}

/** On which of the chosen targets a suite runs, and how it reads there.
  *
  * The two realistic targets are one server, and differ only in how HTTP/2 is agreed on. Calls other than SubscribeToShard use
  * HTTP/1.1, so what does not read by fan-out runs on one of them.
  */
object Passes {

  /** Set to `once`, as `make test` does, it limits [[crossed]] to one pass over each target. */
  val Setting = "SCENARIO_PASSES"

  /** A suite for each target and each way of reading. */
  def suites(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] =
    reading(Targets.forScenarios.selected).map { case (target, mode) => suite(target, mode) }

  /** The same, or one suite for each target: see [[Setting]]. For what hardly depends on target and way of reading at once. */
  def crossed(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] = {
    val targets = Targets.forScenarios.selected
    val passes  = if (sys.env.get(Setting).contains("once")) once(targets) else reading(targets)
    passes.map { case (target, mode) => suite(target, mode) }
  }

  /** Each target by polling and by fan-out. */
  def reading(targets: Seq[KinesisTarget]): Seq[(KinesisTarget, Mode)] = for {
    target <- targets
    mode   <- Mode.both
    if mode == Mode.FanOut || servers(targets).contains(target)
  } yield target -> mode

  /** Each target one way: TLS without ALPN by polling, all others by fan-out. */
  def once(targets: Seq[KinesisTarget]): Seq[(KinesisTarget, Mode)] =
    targets.map(target => target -> (if (target == RealisticTls) Mode.Polling else Mode.FanOut))

  /** Each server once. */
  def servers(targets: Seq[KinesisTarget]): Seq[KinesisTarget] =
    if (targets.contains(RealisticTls)) targets.filter(_ != RealisticAlpn) else targets
}
