package io.github.kinesisspark.simulation

import java.lang.management.ManagementFactory

import scala.util.Random

/** `make simulate`: one world after the other, from new seeds for a while, or the one of a given seed. Ends with exit code 1 where one has failed.
  *
  * {{{
  * seed=<n>      that world alone; with seconds, the seeds from there on
  * seconds=<n>   30 without a seed
  * show=events   prints each event of a world
  * hash=only     prints the hash of its trace
  * }}}
  */
object Main {
  def main(arguments: Array[String]): Unit = {
    val asked    = arguments.iterator.map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
    val seed     = asked.get("seed").map(_.toLong)
    val seconds  = asked.get("seconds").map(_.toLong).orElse(Option.when(seed.isEmpty)(30L))
    val show     = asked.contains("show")
    val deadline = System.nanoTime() + seconds.getOrElse(0L) * 1000000000L
    val first    = seed.getOrElse(Random.nextInt(Int.MaxValue).toLong)
    val runs     = Iterator
      .iterate(first)(_ + 1)
      .zipWithIndex
      .takeWhile { case (_, i) => i == 0 || System.nanoTime() < deadline }
      .map { case (one, _) => run(one, show) }
    if (asked.get("hash").contains("only")) println(runs.next().fold(_.toString, _.hash))
    else {
      val all = runs.toVector
      report(first, all)
      if (all.exists(_.isLeft)) System.exit(1)
    }
    System.exit(0)
  }

  private def run(seed: Long, show: Boolean): Either[Throwable, World.Outcome] = {
    val plan  = Plan.of(seed)
    val trace =
      new Trace(if (show) (ms, process, what) => println(Trace.line(ms, process, what)) else (_, _, _) => ())
    try Right(new World(seed, plan, trace).run())
    catch {
      case failure: Throwable =>
        println(s"seed $seed: ${plan.settings}\n${trace.table}\nseed $seed failed: ${failure.getMessage}")
        println(s"Again: make simulate SEED=$seed")
        Option(failure.getCause).foreach(_.printStackTrace(System.out))
        Left(failure)
    }
  }

  private def report(first: Long, all: Vector[Either[Throwable, World.Outcome]]): Unit = {
    val whole = all.collect { case Right(outcome) => outcome }
    val hours =
      ManagementFactory.getPlatformMXBean(classOf[com.sun.management.OperatingSystemMXBean]).getProcessCpuTime / 3.6e12
    val struck = whole.flatMap(_.struck).groupMapReduce(_._1)(_._2)(_ + _).toVector.sorted
    println(
      f"Seeds $first to ${first + all.size - 1}: ${all.size} worlds, ${all.count(_.isLeft)} failed, in $hours%.3f hours of CPU"
    )
    println(
      s"Virtual time: ${whole.map(_.lasted.toSeconds).sum} s; batches: ${whole.map(_.batches).sum}; records: ${whole.map(_.records).sum}"
    )
    println(s"Faults struck: ${struck.map { case (kind, times) => s"$kind $times" }.mkString(", ")}")
  }
}
