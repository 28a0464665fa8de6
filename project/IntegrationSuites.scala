import scala.annotation.tailrec

/** What the build knows of the suites of integration-tests: which need no Spark, and which share a test JVM. */
object IntegrationSuites {

  /** Quick, with no Spark query and no third-party server: pure logic, or the embedded server alone. */
  def isPure(suite: String): Boolean = {
    val name = suite.stripPrefix("io.github.kinesisspark.it.")
    (Seq("fanout.", "aws.").exists(name.startsWith(_)) || !name.contains('.')) && !StartsAServer(name) &&
    !WaitsForAMinute(name)
  }

  // kinesis-local, and a JVM that runs suites.
  private val StartsAServer = Set("KinesisTargetSpec", "aws.TestAwsSpec")

  private val WaitsForAMinute = Set("fanout.SilentSubscriptionSpec")

  /** Suites that count threads or heap of their JVM, or fill it. */
  private val MeasuresItsJvm = Set("ManyShardsSpec")

  val Conformance = "ConformanceSpec"

  /** Seconds that the longest suites took; all others count as `Other`. Only the balance between test JVMs depends on it. */
  private val Seconds: Map[String, Int] = Map(
    "FanOutFaultsSpec"       -> 380,
    "BatchSpec"              -> 370,
    "ExactnessSpec"          -> 285,
    "RealTimeSpec"           -> 215,
    "ReadingSpec"            -> 210,
    "DnsFaultsSpec"          -> 80,
    "EndpointFaultsSpec"     -> 125,
    "SeveralStreamsSpec"     -> 110,
    "SlowTriggerSpec"        -> 100,
    "ReshardingSpec"         -> 100,
    "ReaderPromisesSpec"     -> 80,
    "AwkwardServiceSpec"     -> 70,
    "SilentSubscriptionSpec" -> 70,
    "SinkSpec"               -> 65,
    "OutageSpec"             -> 65,
    "AggregationSpec"        -> 60,
    "RivalPollersSpec"       -> 45,
    "BackpressureSpec"       -> 40,
    "FaultsSpec"             -> 40,
    "StuckCredentialsSpec"   -> 150,
    "SlowCredentialsSpec"    -> 30,
    "CredentialsFaultsSpec"  -> 30,
    "TestAwsSpec"            -> 30,
    "LateSignalsSpec"        -> 30,
    "SinkFaultsSpec"         -> 25,
    "LargestRecordsSpec"     -> 40,
    "ShardSkewSpec"          -> 20,
    "BatchLimitsSpec"        -> 20
  )

  private val Other = 10

  /** Test JVMs that run side by side. More of them wait less for each other, but each warms Spark up again. */
  private val SideBySide = 6

  /** The suites of each test JVM, by a name for its log file: longest suites first, each to the JVM that has least to do.
    * A suite that measures its JVM has one of its own, and so has conformance, whose servers are chosen apart.
    */
  def groups(suites: Seq[String]): Seq[(String, Seq[String])] = {
    val (alone, shared) = suites.partition(suite => MeasuresItsJvm(simple(suite)) || simple(suite) == Conformance)
    val jvms = balanced(shared.sortBy(suite => (-seconds(suite), suite)), Vector.fill(SideBySide)(Vector.empty))
    jvms.zipWithIndex.collect { case (some, i) if some.nonEmpty => (s"jvm-${i + 1}", some) } ++
      alone.sorted.map(suite => (simple(suite), Seq(suite)))
  }

  @tailrec private def balanced(suites: Seq[String], jvms: Vector[Vector[String]]): Vector[Vector[String]] =
    suites match {
      case Seq()         => jvms
      case suite +: rest =>
        val least = jvms.indexOf(jvms.minBy(_.map(seconds).sum))
        balanced(rest, jvms.updated(least, jvms(least) :+ suite))
    }

  private def seconds(suite: String): Int   = Seconds.getOrElse(simple(suite), Other)
  private def simple(suite: String): String = suite.split('.').last
}
