package io.github.kinesisspark.it.aws

import java.lang.management.ManagementFactory
import java.time.Instant
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import io.github.kinesisspark.it.{Targets, TestRun}

/** `make test-aws`: prints the plan, runs the suites in a JVM of their own, meters what they hold open, ends them when that exceeds the
  * budget, and deletes every stream of the run at its end. What a crash leaves, `make test-aws-clean` deletes.
  */
object TestAws {

  /** The program's exit status. */
  object Exit {
    val Passed         = 0
    val TestsFailed    = 1
    val Refused        = 2
    val BudgetExceeded = 3
    val NotCleanedUp   = 4
  }

  // A stream lives for a minute at least, so none is missed. Three calls for each stream are below the service's quotas.
  private val ObserveEverySeconds = 10L

  def main(args: Array[String]): Unit = System.exit(run(sys.env.filter(_._2.nonEmpty), println(_)))

  private[aws] def run(variables: Map[String, String], say: String => Unit): Int = {
    val id    = variables.getOrElse("RUN", TestRun.newId())
    val asked = for {
      settings <- AwsSettings.parse(variables)
      plan     <- RunPlan.parse(variables.getOrElse("SUITES", RunPlan.Default))
      budget   <- budgetOf(variables)
    } yield (settings, plan, budget)
    asked match {
      case Left(problem) =>
        say(problem)
        Exit.Refused
      case Right((settings, plan, budget)) =>
        say(s"Run $id against ${settings.endpoint.fold("AWS")(_.toString)} in ${settings.region}")
        say(plan.text(budget))
        if (!budget.allows(plan.usage)) Exit.Refused
        else new TestAws(id, settings, plan, budget, say).run()
    }
  }

  private[aws] def budgetOf(variables: Map[String, String]): Either[String, Budget] = variables.get("BUDGET") match {
    case None       => Right(RunPlan.DefaultBudget)
    case Some(text) =>
      text.toIntOption
        .filter(_ > 0)
        .map(Budget(_))
        .toRight(s"BUDGET is '$text'; a number of shard-minutes and consumer-shard-minutes together is expected")
  }
}

final private class TestAws(id: String, settings: AwsSettings, plan: RunPlan, budget: Budget, say: String => Unit) {
  import TestAws._

  private val prefix  = TestRun.prefixOf(id)
  private val service = settings.open()
  private val streams = new OwnStreams(service, prefix)
  private val isOver  = new AtomicBoolean

  def run(): Int = Try(streams.found()) match {
    case Failure(problem) =>
      say(s"Nothing is created, because the service refuses to list streams: ${problem.getMessage}")
      Exit.Refused
    case Success(others) if others.nonEmpty =>
      say(s"Nothing is created, because there are streams with '$prefix': another run has this name")
      Exit.Refused
    case Success(_) => runSuites()
  }

  private def runSuites(): Int = {
    val suites = startSuites()
    // Ctrl-C and a kill that can be caught end the run as a whole.
    val hook = sys.addShutdownHook(if (isOver.compareAndSet(false, true)) { finish(suites); () })
    say(
      s"Streams begin with '$prefix'. Should this be killed: make test-aws-clean REGION=${settings.region} PREFIX=$prefix"
    )
    val outcome = watch(suites, Meter.from(Instant.now))
    if (isOver.compareAndSet(false, true)) {
      val cleanedUp = finish(suites)
      Try(hook.remove())
      if (cleanedUp) outcome else Exit.NotCleanedUp
    } else outcome
  }

  private def startSuites(): Process = {
    val jvm     = s"${sys.props("java.home")}/bin/java"
    val options = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
    val command =
      Seq(jvm) ++ options ++ Seq("-cp", sys.props("java.class.path"), SuiteRun.getClass.getName.stripSuffix("$")) ++
        Seq(ProcessHandle.current.pid.toString) ++ plan.parts.map(_.suite)
    val builder = new ProcessBuilder(command.asJava).inheritIO().redirectInput(ProcessBuilder.Redirect.PIPE)
    builder.environment.put(TestRun.Setting, id)
    builder.environment.put(Targets.Setting, "aws")
    builder.start()
  }

  /** Until the suites end by themselves, or the budget is used up. */
  private def watch(suites: Process, start: Meter): Int = {
    var meter    = start
    var exceeded = false
    while (!exceeded && !suites.waitFor(ObserveEverySeconds, TimeUnit.SECONDS)) {
      // Without an answer, what was open before still counts.
      Try(streams.holding()).fold(
        failure => say(s"The run's streams could not be counted: $failure"),
        holding => meter = meter.observed(holding, Instant.now)
      )
      exceeded = !budget.allows(meter.used(Instant.now))
    }
    say(s"Used: ${meter.used(Instant.now)}, of ${budget.minutes} minutes in the budget")
    if (exceeded) {
      say("The budget is used up: the run ends before its last test")
      Exit.BudgetExceeded
    } else if (suites.exitValue == 0) Exit.Passed
    else Exit.TestsFailed
  }

  /** @return whether nothing is left */
  private def finish(suites: Process): Boolean = {
    suites.destroyForcibly().waitFor()
    val cleaning = Try(streams.delete(say))
    cleaning.fold(
      failure =>
        say(
          s"Not everything is deleted: ${failure.getMessage}; make test-aws-clean REGION=${settings.region} PREFIX=$prefix"
        ),
      _ => say(s"No stream with '$prefix' is left")
    )
    cleaning.isSuccess
  }
}
