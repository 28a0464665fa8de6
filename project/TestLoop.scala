/** Which tests a run takes, chosen by the environment variable `TEST_LOOP`; the Makefile sets it.
  *
  * Tags are those of `io.github.kinesisspark.it.Tags`, by name.
  *
  * @param without tags of tests that the run leaves out
  * @param only    tags of tests that the run is limited to; empty for no limit
  */
sealed abstract class TestLoop(val name: String, val without: Seq[String], val only: Seq[String] = Nil) {

  /** Whether the run has this suite at all. */
  def has(module: String, suite: String): Boolean = true

  /** What the environment of a test JVM has beside sbt's own. */
  def environment(jvm: String): Map[String, String] = Map.empty

  /** Prints a line for each suite, in place of one for each test. */
  def isQuiet: Boolean = true

  /** Lets the JVM compile as it does for users: without it no race that optimized code has can be seen. */
  def isOptimized: Boolean = false

  /** The directory of its reports, in a module's `target`. */
  def reports: String = "test-reports"

  final def scalaTestArguments: Seq[String] =
    without.flatMap(tag => Seq("-l", tag)) ++ only.flatMap(tag => Seq("-n", tag))
}

object TestLoop {
  private val AwaitsEngine = "io.github.kinesisspark.AwaitsEngine"
  private val Slow         = "io.github.kinesisspark.Slow"

  private val OnePass      = Map("SCENARIO_PASSES" -> "once")

  /** `make check`: no Spark query and no third-party server. */
  case object Check extends TestLoop("check", Seq(AwaitsEngine, Slow)) {
    override def environment(jvm: String): Map[String, String] = OnePass

    override def has(module: String, suite: String): Boolean =
      module != "integration-tests" || IntegrationSuites.isPure(suite)
  }

  /** `make test`. What it leaves to [[All]]: conformance of third-party servers, which changes with their versions only, and batch and
    * exactness scenarios by both ways of reading on each server, and three quarters of the random histories of tests against a model.
    */
  case object Test extends TestLoop("test", Seq(AwaitsEngine, Slow)) {
    override def environment(jvm: String): Map[String, String] =
      if (jvm == IntegrationSuites.Conformance) Map("KINESIS_TARGETS" -> "testkit")
      else OnePass
  }

  /** The tests of `make test-all`. */
  case object All extends TestLoop("all", Seq(AwaitsEngine))

  /** `make test-awaiting`: what the present engine fails. */
  case object Awaiting extends TestLoop("awaiting", Nil, Seq(AwaitsEngine))

  /** The suites about threads, readers, subscriptions and buffers, with the optimizing compiler. */
  case object Concurrency extends TestLoop("concurrency", Seq(AwaitsEngine)) {
    private val Parts = Seq(
      "kinesisspark.aws.",
      "kinesisspark.read.",
      "kinesisspark.write.",
      "kinesisspark.testkit.Subscri",
      "kinesisspark.testkit.subscription.",
      "kinesisspark.testkit.Consumers",
      "kinesisspark.testkit.Transport",
      "kinesisspark.testkit.Fault",
      "kinesisspark.testkit.Reshard"
    )
    override def isOptimized: Boolean = true
    // Beside those of the first run of the same suites.
    override def reports: String                             = "test-reports-optimized"
    override def has(module: String, suite: String): Boolean = Parts.exists(suite.contains(_))
  }

  /** A run by hand, as `./sbt "testkit/testOnly *ReadSpec"`: everything that is asked for. */
  case object ByHand extends TestLoop("", Nil) {
    override def isQuiet: Boolean = false
  }

  private val all: Seq[TestLoop] = Seq(Check, Test, All, Awaiting, Concurrency, ByHand)

  /** @throws java.lang.IllegalArgumentException for a name that is none of a loop */
  def of(environment: Map[String, String]): TestLoop = {
    val asked = environment.getOrElse("TEST_LOOP", "")
    all
      .find(_.name == asked)
      .getOrElse(
        throw new IllegalArgumentException(
          s"TEST_LOOP names '$asked'; there are ${all.map(_.name).filter(_.nonEmpty).mkString(", ")}"
        )
      )
  }
}
