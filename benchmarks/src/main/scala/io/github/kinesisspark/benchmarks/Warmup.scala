package io.github.kinesisspark.benchmarks

import scala.annotation.tailrec

/** Rounds that don't count, because the JVM still compiles what they run. */
object Warmup {

  /** A round in which the compilers take less than this share of the CPU is taken for warm. */
  private val WarmShare = 0.1

  def isOver(cpu: CpuShares): Boolean = cpu.byUse.getOrElse("compilation", 0.0) < WarmShare * cpu.all

  /** Until a round is warm, or there were so many.
    *
    * @param round by its number, from 1
    * @return how many there were
    */
  def until[A](least: Int, most: Int)(round: Int => A)(isWarm: A => Boolean): Int = {
    @tailrec def after(done: Int, warm: Boolean): Int =
      if (done >= most || (done >= least && warm)) done else after(done + 1, isWarm(round(done + 1)))
    after(0, warm = false)
  }
}
