import scala.annotation.tailrec

import sbt.io.IO

import java.io.File

/** Which suites and tests a run takes. The Makefile sets `TEST_LOOP`; without it, by hand, everything that is asked for runs. */
final class TestLoop(val name: String) {
  require(TestLoop.Names(name), s"TEST_LOOP is '$name'; there are ${TestLoop.Names.mkString(" ")}")

  val isByHand: Boolean = name.isEmpty

  /** `make check` and `make test`: without slow tests, each scenario by one way of reading, and an eighth of the random histories. */
  val isBrief: Boolean = name == "check" || name == "test"

  /** Lets the JVM compile as it does for users: without it no race that optimized code has can be seen. */
  val isOptimized: Boolean = name == "concurrency"

  def has(module: String, suite: String): Boolean = name match {
    case "check"       => module != "integration-tests"
    case "concurrency" => TestLoop.Threads.exists(suite.contains(_))
    case _             => true
  }

  /** What the environment of a test JVM has beside sbt's own. Conformance of third-party servers changes with their versions only. */
  def environment(jvm: String): Map[String, String] =
    if (!isBrief) Map.empty
    else if (jvm == TestLoop.Conformance) Map("KINESIS_TARGETS" -> "testkit")
    else Map("SCENARIO_PASSES"                                  -> "once")

  def arguments: Seq[String] = if (isBrief) Seq("-l", "org.scalatest.tags.Slow") else Nil
}

object TestLoop {
  private val Names       = Set("", "check", "test", "all", "concurrency")
  private val Conformance = "ConformanceSpec"

  /** Suites that count threads or heap of their JVM, or fill it, and the one whose servers are chosen apart. */
  private val Alone = Set("ManyShardsSpec", Conformance)

  // Parts of the names of suites about threads, readers, subscriptions and buffers.
  private val Threads = Seq("kinesisspark.aws.", "kinesisspark.read.", "kinesisspark.write.") ++
    Seq("Subscri", "subscription.", "Consumers", "Transport", "Fault", "Reshard").map("kinesisspark.testkit." + _)

  /** The suites of each test JVM, by a name for its log file: longest suites first, each to the JVM that has least to do.
    *
    * @param sideBySide test JVMs: more of them wait less for each other, but each warms Spark up again
    * @param seconds    a line for each suite that is longer than most, as `make suite-seconds` writes it
    */
  def jvms(suites: Seq[String], sideBySide: Int, seconds: File): Seq[(String, Seq[String])] = {
    val known             = IO.readLines(seconds).map(_.split(' ')).map(line => line(0) -> line(1).toInt).toMap
    def of(suite: String) = known.getOrElse(simple(suite), 1)

    @tailrec def balanced(suites: Seq[String], jvms: Vector[Vector[String]]): Vector[Vector[String]] =
      suites match {
        case Seq()         => jvms
        case suite +: rest =>
          val least = jvms.indexOf(jvms.minBy(_.map(of).sum))
          balanced(rest, jvms.updated(least, jvms(least) :+ suite))
      }
    val (alone, shared) = suites.partition(suite => Alone(simple(suite)))
    val several         = balanced(shared.sortBy(suite => (-of(suite), suite)), Vector.fill(sideBySide)(Vector.empty))
    several.zipWithIndex.collect { case (some, i) if some.nonEmpty => (s"jvm-${i + 1}", some) } ++
      alone.sorted.map(suite => simple(suite) -> Seq(suite))
  }

  private def simple(suite: String) = suite.split('.').last
}
