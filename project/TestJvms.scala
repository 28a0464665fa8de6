import java.io.{File, FileOutputStream, PrintWriter}
import java.net.InetAddress

import scala.util.Try

import sbt._
import sbt.Keys._
import sbt.util.{Level, Logger}

/** The JVMs that a module's tests run in: Spark keeps state per JVM, and sbt's heap is not the suite's. What one prints goes to a file
  * below build/logs.
  */
object TestJvms {
  val module         = settingKey[String]("The name of a module in reports and logs.")
  val testReports    = settingKey[File]("Where ScalaTest's own JUnit reports of a module go.")
  val testJvms       = settingKey[Int]("How many test JVMs share a module's suites.")
  val testJvmOptions = settingKey[Seq[String]]("Options of test JVMs alone, not of programs that runMain starts.")

  // Which suites a run takes.
  private val loop = new TestLoop(sys.env.getOrElse("TEST_LOOP", ""))

  private val build = Def.setting((ThisBuild / baseDirectory).value / "build")

  val settings: Seq[Setting[_]] = Seq(
    module      := baseDirectory.value.getName,
    Test / fork := true,
    Test / javaOptions ++= Options.spark ++ Seq("-Xmx3g", "-XX:+UseSerialGC", "-Dspark.ui.enabled=false"),
    // None lives long enough for the optimizing compiler's work, on the tests' cores, to pay; one loop is there to run optimized
    // code all the same. Without that compiler the JVM reserves too little room for the code of a Spark.
    Test / javaOptions ++=
      (if (loop.isOptimized) Nil else Seq("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m")),
    // An eighth of the CPU that the start of a Spark takes. What the compiler makes is verified where the assembled JAR runs.
    Test / javaOptions ++= Seq("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
    // Of a module's JVMs, side by side; within one, suite comes after suite.
    Test / parallelExecution := true,
    Test / testOptions ++= Seq(
      Tests.Filter(loop.has(module.value, _)),
      // A line for each suite and what failed; all by hand.
      Tests.Argument(TestFrameworks.ScalaTest, if (loop.isByHand) "-oDFIK" else "-oNCXELOPQRM"),
      Tests.Argument(TestFrameworks.ScalaTest, loop.arguments: _*),
      Tests.Argument(TestFrameworks.ScalaTest, "-u", testReports.value.getPath)
    ),
    // Its reports would be sbt's own, which leave out that a test was canceled.
    Test / testListeners := Nil,
    testReports          :=
      build.value / "test-reports" / (module.value + (if (loop.isOptimized) "-optimized" else "")),
    Test / testGrouping := groups.value,
    testJvms            := 1,
    testJvmOptions      := Nil
  )

  private lazy val groups = Def.task {
    val fork   = (Test / forkOptions).value
    val suites =
      (Test / definedTests).value.filter(test => loop.has(module.value, test.name)).map(t => t.name -> t).toMap
    // The summary of a run misses those of which no report comes. Others are parts of suites, or started by a suite.
    val reporting = suites.keys.filter(name => name.endsWith("Spec") || name.endsWith("Test"))
    IO.writeLines(testReports.value / "suites.txt", reporting.toSeq.sorted)
    val seconds = (ThisBuild / baseDirectory).value / "project" / "suite-seconds.txt"
    TestLoop.jvms(suites.keys.toSeq, testJvms.value, seconds).map { case (jvm, members) =>
      val log = new FileLog(build.value / "logs" / s"${module.value}-$jvm.log")
      val its = fork
        .withOutputStrategy(OutputStrategy.LoggedOutput(log))
        // Tests read and write AWS files below HOME: not those of the person who runs them.
        .withEnvVars(fork.envVars ++ loop.environment(jvm) + ("HOME" -> (build.value / "test-home").getPath))
        .withRunJVMOptions(fork.runJVMOptions ++ testJvmOptions.value)
      Tests.Group(jvm, members.map(suites), Tests.SubProcess(its))
    }
  }

  /** Options of a JVM that knows two host names alone: this machine's own, and a name of AWS's that leads to this machine. All other
    * names fail to resolve there, so that no test can reach AWS by mistake.
    *
    * @see RealisticServer.HostName in the integration tests
    */
  val ownHosts: Def.Initialize[Seq[String]] = Def.setting {
    // No line where the machine doesn't know its own name.
    val here  = Try(InetAddress.getLocalHost).toOption.map(host => s"${host.getHostAddress} ${host.getHostName}")
    val lines = Seq("127.0.0.1 localhost", "127.0.0.1 vpce-1-test.kinesis.us-east-1.vpce.amazonaws.com") ++ here
    val file  = build.value / "test-hosts"
    IO.writeLines(file, lines)
    Seq(s"-Djdk.net.hosts.file=${file.getAbsolutePath}")
  }

  /** A file that exists from the first line on. */
  private final class FileLog(file: File) extends Logger {
    private lazy val out = {
      IO.createDirectory(file.getParentFile)
      new PrintWriter(new FileOutputStream(file), true)
    }

    override def log(level: Level.Value, message: => String): Unit = out.println(message)
    override def success(message: => String): Unit                 = out.println(message)
    override def trace(failure: => Throwable): Unit                = failure.printStackTrace(out)
  }
}
