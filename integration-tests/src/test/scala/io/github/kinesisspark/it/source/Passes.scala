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

  /** Set to `once`, as `make test` does, it limits each suite to one pass over each server. */
  val Setting = "SCENARIO_PASSES"

  /** A suite for each pass. */
  def suites(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] =
    of(once(Mode.FanOut), suite)

  /** The same, but if each server has one pass, the realistic one is polled. */
  def crossed(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] =
    of(once(Mode.Polling), suite)

  private def of(short: Seq[KinesisTarget] => Seq[(KinesisTarget, Mode)], suite: (KinesisTarget, Mode) => Suite) = {
    val targets = Targets.forScenarios.selected
    val passes  = if (sys.env.get(Setting).contains("once")) short(targets) else reading(targets)
    passes.map { case (target, mode) => suite(target, mode) }
  }

  /** Each target by polling and by fan-out. */
  def reading(targets: Seq[KinesisTarget]): Seq[(KinesisTarget, Mode)] = for {
    target <- targets
    mode   <- Mode.both
    if mode == Mode.FanOut || servers(targets).contains(target)
  } yield target -> mode

  /** Each server one way: the realistic ones as given, with ALPN by fan-out and without it by polling; the others the other way. */
  def once(realistic: Mode)(targets: Seq[KinesisTarget]): Seq[(KinesisTarget, Mode)] = targets.collect {
    case RealisticAlpn if realistic == Mode.FanOut => RealisticAlpn -> realistic
    case RealisticTls if realistic == Mode.Polling => RealisticTls  -> realistic
    case other if !Realistic(other)                => other         -> Mode.both.filterNot(_ == realistic).head
  }

  private val Realistic = Set[KinesisTarget](RealisticAlpn, RealisticTls)

  /** Each server once. */
  def servers(targets: Seq[KinesisTarget]): Seq[KinesisTarget] =
    if (targets.contains(RealisticTls)) targets.filter(_ != RealisticAlpn) else targets
}
