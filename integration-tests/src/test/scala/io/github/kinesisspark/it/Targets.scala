package io.github.kinesisspark.it

import io.github.kinesisspark.it.KinesisTarget._

/** The targets of a run, and why the others are left out.
  *
  * @param selected in the order asked for
  */
final case class Targets(selected: Seq[KinesisTarget], leftOut: Map[KinesisTarget, String])

/** `KINESIS_TARGETS` (system property or environment variable) chooses: a comma list of names, or `all`. A target that is
  * named and cannot start fails the run. Another one that this machine cannot run is left out, except in CI (`CI` is set).
  */
object Targets {
  val Setting = "KINESIS_TARGETS"

  /** Without a choice, conformance runs where a clock can be moved and on one emulator of others. */
  val DefaultForConformance: Seq[KinesisTarget] = Seq(Testkit, KinesisLocal)

  /** Without a choice, source and sink run on what is most like AWS and on one emulator of others. */
  val DefaultForScenarios: Seq[KinesisTarget] = Seq(RealisticAlpn, RealisticTls, KinesisLocal)

  private val asked: Option[String] = sys.props.get(Setting).orElse(sys.env.get(Setting)).filter(_.nonEmpty)

  /** Why this machine cannot run a target. */
  private[it] def obstacle(target: KinesisTarget): Option[String] = obstacle(target, sys.env, LocalServer.obstacle)

  /** Third-party servers need what a machine may not have and no package registry brings. In CI they fail without it, because
    * a run that leaves them out would pass.
    *
    * @param missing what the server of this name needs and this machine lacks
    */
  private[it] def obstacle(
      target: KinesisTarget,
      environment: Map[String, String],
      missing: String => Option[String]
  ): Option[String] = target match {
    case KinesisLocal | LocalStack if !environment.get("CI").exists(_.nonEmpty) => missing(target.name)
    case _                                                                      => None
  }

  /** The targets of the conformance suite. */
  lazy val forConformance: Targets = choose(asked, DefaultForConformance, obstacle(_))

  /** The targets of the source and sink scenarios. */
  lazy val forScenarios: Targets = choose(asked, DefaultForScenarios, obstacle(_))

  /** @param asked the value of `KINESIS_TARGETS`
    * @param obstacle why a target cannot run on this machine; not consulted for targets that are named
    */
  private[it] def choose(
      asked: Option[String],
      byDefault: Seq[KinesisTarget],
      obstacle: KinesisTarget => Option[String]
  ): Targets = {
    def possible(targets: Seq[KinesisTarget]) = {
      val (free, others) = targets.partitionMap(target => obstacle(target).map(target -> _).toRight(target))
      (free, others.toMap)
    }
    val (selected, obstacles) = asked.map(_.trim) match {
      case None        => possible(byDefault)
      case Some("all") => possible(KinesisTarget.all.filter(_ != Aws))
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
