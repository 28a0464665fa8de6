package io.github.kinesisspark.fuzz

import scala.concurrent.duration.FiniteDuration

/** The result of fuzzing a target for a while.
  *
  * @param seed       of the mutations; those of a run also depend on the inputs that are kept
  * @param executions inputs that were tried
  * @param edges      of the instrumented code that some input has taken
  * @param inputs     that are kept, because each reaches what none before it did
  * @param findings   the first line of each
  * @param ended      by itself
  */
final case class Campaign(
    target: String,
    time: FiniteDuration,
    seed: Long,
    executions: Long,
    edges: Long,
    inputs: Long,
    findings: Vector[String],
    ended: Boolean
) {
  def isClean: Boolean = ended && executions > 0 && findings.isEmpty

  def json: ujson.Obj = ujson.Obj(
    "target"     -> target,
    "seconds"    -> ujson.Num(time.toSeconds.toDouble),
    "seed"       -> ujson.Num(seed.toDouble),
    "executions" -> ujson.Num(executions.toDouble),
    "edges"      -> ujson.Num(edges.toDouble),
    "inputs"     -> ujson.Num(inputs.toDouble),
    "ended"      -> ended,
    "findings"   -> ujson.Arr.from(findings)
  )
}

object Campaign {
  private val Progress = """#(\d+)\s.*cov: (\d+) .*corp: (\d+)/.*""".r
  private val Seed     = """INFO: Seed: (\d+)""".r
  private val Finding  = """== Java Exception: (.*)|==\d+== ?ERROR: libFuzzer: (.*)""".r

  /** @param log of Jazzer, which prints about itself what libFuzzer does */
  def of(target: String, time: FiniteDuration, log: Vector[String], ended: Boolean): Campaign = {
    val progress = log.collect { case Progress(n, edges, inputs) => (n.toLong, edges.toLong, inputs.toLong) }
    val findings = log.collect { case Finding(exception, other) => Option(exception).getOrElse(other) }
    val (executions, edges, inputs) = progress.lastOption.getOrElse((0L, 0L, 0L))
    val seed                        = log.collectFirst { case Seed(n) => n.toLong }.getOrElse(0L)
    Campaign(target, time, seed, executions, edges, inputs, findings, ended)
  }
}
