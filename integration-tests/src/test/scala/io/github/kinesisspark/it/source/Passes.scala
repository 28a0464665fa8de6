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

  /** Set to `once`, as `make test` does, it makes runs short. */
  val Setting = "SCENARIO_PASSES"

  private val isShort = sys.env.get(Setting).contains("once")

  /** A suite for each pass; in a short run one for each server, the realistic one polled. */
  def suites(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] = of(once(Mode.Polling), suite)

  /** A suite for each pass; in a short run one on the realistic server: what it tests depends on neither server nor mode. */
  def first(mode: Mode)(suite: (KinesisTarget, Mode) => Suite): Seq[Suite] = of(once(mode)(_).take(1), suite)

  private def of(short: Seq[KinesisTarget] => Seq[(KinesisTarget, Mode)], suite: (KinesisTarget, Mode) => Suite) = {
    val targets = Targets.forScenarios.selected
    (if (isShort) short(targets) else reading(targets)).map { case (target, mode) => suite(target, mode) }
  }

  /** A suite for each server; in a short run one. */
  def sinks(suite: KinesisTarget => Suite): Seq[Suite] = {
    val all = servers(Targets.forScenarios.selected)
    (if (isShort) all.take(1) else all).map(suite)
  }

  /** A suite for each way of reading; in a short run for one, where the readers' own tests have what differs between them. */
  def modes(short: Mode)(suite: Mode => Suite): Seq[Suite] = (if (isShort) Seq(short) else Mode.both).map(suite)

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
