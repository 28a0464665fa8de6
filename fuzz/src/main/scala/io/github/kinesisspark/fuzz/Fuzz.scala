package io.github.kinesisspark.fuzz

import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** `make fuzz`: Jazzer on one target after the other, MINUTES of the environment for all of them together, or ONLY some, by name. Prints a
  * JSON line for each on standard output, and fails if there are findings.
  *
  * @see [[https://github.com/CodeIntelligenceTesting/jazzer Jazzer]]
  */
object Fuzz {

  def main(args: Array[String]): Unit = {
    val names   = sys.env.get("ONLY").filter(_.nonEmpty).map(_.split(",").toSet)
    val targets = Target.all.filter(target => names.forall(_(target.name)))
    val minutes = sys.env.get("MINUTES").filter(_.nonEmpty).fold(20.0)(_.toDouble)
    val each    = (minutes.minutes / targets.size.max(1).toDouble).toSeconds.max(1).seconds
    val results = targets.map(run(_, each))
    sys.exit(if (targets.nonEmpty && results.forall(_.isClean)) 0 else 1)
  }

  private def run(target: Target, time: FiniteDuration): Campaign = {
    val work     = Files.createDirectories(Paths.get("target", "fuzz", target.name))
    val corpus   = Files.createDirectories(work.resolve("corpus"))
    val findings = Files.createDirectories(work.resolve("findings"))
    for ((seed, n) <- target.seeds.zipWithIndex) Files.write(corpus.resolve(s"seed-$n"), seed)
    val words   = Files.writeString(work.resolve("words"), target.words.map(shown).mkString("\n"))
    val log     = work.resolve("log")
    val process = new ProcessBuilder(command(target, time, work, corpus, findings, words).asJava)
      .redirectErrorStream(true)
      .redirectOutput(log.toFile)
      .start()
    // Jazzer ends by itself; this is for the case that it doesn't.
    val ended = process.waitFor((time + 5.minutes).toSeconds, TimeUnit.SECONDS)
    if (!ended) process.destroyForcibly().waitFor(): Unit
    val campaign = Campaign.of(target.name, time, Files.readString(log).linesIterator.toVector, ended)
    println(campaign.json.render())
    campaign
  }

  /** As libFuzzer's dictionaries have it. */
  private def shown(word: Array[Byte]) = word.map(byte => f"\\x${byte & 0xff}%02x").mkString("\"", "", "\"")

  private def command(
      target: Target,
      time: FiniteDuration,
      work: Path,
      corpus: Path,
      findings: Path,
      words: Path
  ): Seq[String] = Seq(
    Paths.get(sys.props("java.home"), "bin", "java").toString,
    "-Xmx1g",
    "-cp",
    sys.props("java.class.path"),
    "com.code_intelligence.jazzer.Jazzer",
    s"--target_class=${target.getClass.getName.stripSuffix("$")}",
    s"--instrumentation_includes=${Instrumented.mkString(":")}",
    // Jazzer's own checks, for injections and the like, look at calls that nothing here makes.
    "--custom_hook_includes=none",
    s"--reproducer_path=$findings",
    s"--keep_going=$MostFindings",
    // Which branches were reached, by class.
    s"--coverage_report=${work.resolve("branches")}",
    s"-max_total_time=${time.toSeconds}",
    s"-artifact_prefix=$findings/",
    s"-timeout=${MostSeconds}",
    s"-max_len=$MostBytes",
    "-rss_limit_mb=3000",
    "-print_final_stats=1",
    corpus.toString,
    Corpus.of(target).toString
    // An empty dictionary is an error to libFuzzer.
  ) ++ Option.when(target.words.nonEmpty)(s"-dict=$words")

  /** What is ours, and what stands between the bytes and us. */
  private val Instrumented = Seq(
    "io.github.kinesisspark.**",
    "software.amazon.eventstream.**",
    "software.amazon.awssdk.protocols.**",
    "ujson.**"
  )

  /** For one input. */
  private val MostSeconds  = 20
  private val MostBytes    = 16 << 10
  private val MostFindings = 50
}
