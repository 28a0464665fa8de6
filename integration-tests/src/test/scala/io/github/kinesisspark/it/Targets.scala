package io.github.kinesisspark.it

import io.github.kinesisspark.it.KinesisTarget._

/** The targets of a run, and why the others are left out.
  *
  * @param selected in the order asked for
  */
final case class Targets(selected: Seq[KinesisTarget], leftOut: Map[KinesisTarget, String])

/** `KINESIS_TARGETS` (system property or environment variable) chooses: a comma list of names, or `all`. A target that is
  * named and cannot start fails the run.
  */
object Targets {
  val Setting = "KINESIS_TARGETS"

  /** Without a choice, conformance runs where a clock can be moved and on one emulator of others. */
  val DefaultForConformance: Seq[KinesisTarget] = Seq(Testkit, KinesisLocal)

  /** Without a choice, source and sink run on what is most like AWS and on one emulator of others. */
  val DefaultForScenarios: Seq[KinesisTarget] = Seq(RealisticAlpn, RealisticTls, KinesisLocal)

  private val asked: Option[String] = sys.props.get(Setting).orElse(sys.env.get(Setting)).filter(_.nonEmpty)

  // Only LocalStack needs what a machine may not have and no package registry brings.
  private def obstacle(target: KinesisTarget): Option[String] =
    if (target == LocalStack) LocalServer.obstacle(LocalStack.name) else None

  /** The targets of the conformance suite. */
  lazy val forConformance: Targets = choose(asked, DefaultForConformance, obstacle)

  /** The targets of the source and sink scenarios. */
  lazy val forScenarios: Targets = choose(asked, DefaultForScenarios, obstacle)

  /** @param asked the value of `KINESIS_TARGETS`
    * @param obstacle why a target cannot run on this machine; consulted only for `all`
    */
  private[it] def choose(
      asked: Option[String],
      byDefault: Seq[KinesisTarget],
      obstacle: KinesisTarget => Option[String]
  ): Targets = {
    val (selected, obstacles) = asked.map(_.trim) match {
      case None        => (byDefault, Map.empty[KinesisTarget, String])
      case Some("all") =>
        val (free, others) = KinesisTarget.all.filter(_ != Aws).partitionMap(t => obstacle(t).map(t -> _).toRight(t))
        (free, others.toMap)
      case Some(names) => (parse(names), Map.empty[KinesisTarget, String])
    }
    val others = KinesisTarget.all.filterNot(selected.contains)
    Targets(selected, others.map(target => target -> obstacles.getOrElse(target, reason(target, asked))).toMap)
  }

  private def reason(target: KinesisTarget, asked: Option[String]): String = target match {
    case Aws => "AWS has not been run yet: it costs money and takes an account; `make test-aws REGION=...` runs it"
    case _   =>
      asked match {
        case None        => s"not among the default targets; $Setting=$target or $Setting=all runs it"
        case Some(names) => s"not in $Setting=$names"
      }
  }

  private def parse(names: String): Seq[KinesisTarget] = {
    val each = names.split(',').map(_.trim).filter(_.nonEmpty).toSeq.distinct
    require(each.nonEmpty, s"$Setting names no target, so no test would run")
    each.map { name =>
      KinesisTarget.all.find(_.name == name).getOrElse {
        throw new IllegalArgumentException(
          s"$Setting names '$name'; the targets are ${KinesisTarget.all.map(_.name).mkString(", ")}, or 'all' but aws"
        )
      }
    }
  }
}
