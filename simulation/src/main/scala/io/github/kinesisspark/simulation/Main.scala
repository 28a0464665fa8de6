package io.github.kinesisspark.simulation

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}

import scala.util.Random

/** `make simulate`: one world after the other, from new seeds for a while, or the one of a given seed. Ends with exit code 1 where one has failed, which is
  * shrunk first.
  *
  * {{{
  * seed=<n>      that world alone, or several as 1,2; with seconds, the seeds from there on
  * seconds=<n>   of CPU; 30 without a seed
  * theme=<name>  only worlds about that, as Stops
  * coverage=<file> what earlier runs reached, to which this one adds
  * shrink=no     a world that fails is not shrunk
  * show=events   prints each event of a world
  * print=hash    prints the hash of each trace alone
  * print=first   prints the first seed that fails, and the seconds of CPU until then
  * }}}
  */
object Main {
  def main(arguments: Array[String]): Unit = {
    val asked = arguments.iterator.map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
    val seeds = asked.get("seed").toVector.flatMap(_.split(',')).map(_.toLong)
    val main  = new Main(
      seeds = if (seeds.isEmpty) Vector(Random.nextInt(Int.MaxValue).toLong) else seeds,
      seconds = asked.get("seconds").map(_.toLong).orElse(Option.when(seeds.isEmpty)(30L)),
      theme = asked.get("theme"),
      reached = asked.get("coverage").map(Path.of(_)),
      show = asked.contains("show"),
      shrinks = !asked.get("shrink").contains("no")
    )
    val isGood = asked.get("print") match {
      case Some("hash")  => main.printHash()
      case Some("first") => main.printFirst()
      case _             => main.runAll()
    }
    System.exit(if (isGood) 0 else 1)
  }

  /** Of this process, in seconds. */
  private def cpu: Double =
    ManagementFactory.getPlatformMXBean(classOf[com.sun.management.OperatingSystemMXBean]).getProcessCpuTime / 1e9

  /** For shrinking. */
  private val ShrinkSeconds = 90
}

private final class Main(
    seeds: Vector[Long],
    seconds: Option[Long],
    theme: Option[String],
    reached: Option[Path],
    show: Boolean,
    shrinks: Boolean
) {
  import Main._

  private val first = seeds.head
  private val plans = {
    def are(some: Iterator[Long]) = some.map(Plan.of).filter(plan => theme.forall(_ == plan.theme))
    seconds.fold(are(seeds.iterator))(most => are(Iterator.iterate(first)(_ + 1)).takeWhile(_ => cpu < most))
  }

  private def run(plan: Plan, trace: Trace = new Trace): Either[Throwable, World.Outcome] =
    try Right(new World(plan, trace).run())
    catch { case failure: Throwable => Left(failure) }

  def printHash(): Boolean = {
    val outcomes = plans.map(run(_)).toVector
    outcomes.foreach(outcome => println(outcome.fold(_.toString, _.hash)))
    outcomes.forall(_.isRight)
  }

  def printFirst(): Boolean = {
    val failed =
      plans.map(plan => plan.seed -> run(plan)).collectFirst { case (seed, Left(failure)) => seed -> failure }
    println(failed.fold(f"none in $cpu%.0f s") { case (seed, failure) =>
      f"seed $seed after $cpu%.0f s: ${failure.getMessage.linesIterator.next()}"
    })
    failed.isEmpty
  }

  def runAll(): Boolean = {
    val began    = cpu
    val coverage = new Coverage
    reached.filter(Files.exists(_)).foreach(coverage.load)
    val struck                           = scala.collection.mutable.TreeMap.empty[String, Int]
    var worlds, failed, records, batches = 0
    var virtual                          = 0L
    var reported                         = 0L
    // New pairs: in all, and as of the last report.
    var found, told = 0
    var last        = first
    plans.foreach { plan =>
      val trace =
        new Trace(if (show) (ms, process, what) => println(Trace.line(ms, process, what)) else (_, _, _) => ())
      worlds += 1
      last = plan.seed
      run(plan, trace) match {
        case Left(failure) =>
          failed += 1
          report(plan, failure)
        case Right(outcome) =>
          records += outcome.records
          batches += outcome.batches
          virtual += outcome.lasted.toSeconds
          found += coverage.add(outcome.coverage)
          outcome.struck.foreach { case (kind, times) => struck(kind) = struck.getOrElse(kind, 0) + times }
      }
      // Each ten minutes of CPU, so that one sees when nothing new comes any more.
      if ((cpu - began).toLong / ReportSeconds > reported) {
        reported = (cpu - began).toLong / ReportSeconds
        println(
          f"${(cpu - began) / 3600}%.2f hours of CPU: $worlds worlds, $failed failed, ${coverage.pairs} pairs of state and event, ${found - told} of them new"
        )
        println(coverage.matrix)
        reached.foreach(coverage.save)
        told = found
      }
    }
    val hours = (cpu - began) / 3600
    println(
      f"Seeds $first to $last: $worlds worlds, $failed failed, in $hours%.3f hours of CPU: ${worlds / hours}%.0f an hour"
    )
    println(
      f"Virtual time: $virtual s; batches: $batches; records: $records, ${records / hours}%.0f an hour of CPU; pairs of state and event: ${coverage.pairs}, $found of them new, ${found / hours}%.0f an hour"
    )
    println(
      s"Faults struck, by hour of CPU: ${struck.map { case (kind, times) => f"$kind $times (${times / hours}%.0f)" }.mkString(", ")}"
    )
    if (worlds > 1) println(coverage.matrix)
    reached.foreach(coverage.save)
    failed == 0
  }

  private val ReportSeconds = 600L

  private def report(plan: Plan, failure: Throwable): Unit = {
    println(s"seed ${plan.seed} (${plan.theme}) failed: ${failure.getMessage}\nAgain: make simulate SEED=${plan.seed}")
    Option(failure.getCause).foreach(_.printStackTrace(System.out))
    if (shrinks) shrink(plan, failure)
  }

  private def shrink(plan: Plan, failure: Throwable): Unit = {
    val until              = System.nanoTime() + ShrinkSeconds * 1000000000L
    def kind(t: Throwable) = t.getMessage.linesIterator.next().replaceAll("[0-9]+", "")
    val small              = new Shrinking(
      plan => run(plan).left.exists(kind(_).take(40) == kind(failure).take(40)),
      () => System.nanoTime() < until
    ).shrink(plan)
    val trace = new Trace
    val why   = run(small, trace).left.map(_.getMessage).left.getOrElse("")
    println(s"Shrunk to ${small.settings}\n   seconds  process         event\n${trace.table}\n$why")
  }
}
