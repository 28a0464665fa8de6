import TestJvms.{module, testJvmOptions, testJvms}

ThisBuild / organization := "io.github.kinesisspark"
// A tag is a release's name; all else is a snapshot of the version to come. A JAR's manifest has the commit, and file names stay.
ThisBuild / version :=
  dynverGitDescribeOutput.value
    .filterNot(_.isSnapshot())
    .fold(s"${Versions.project}-SNAPSHOT")(_.ref.value.stripPrefix("v"))
ThisBuild / scalaVersion := Versions.scala
ThisBuild / scalacOptions ++= Options.scalac
ThisBuild / javacOptions ++= Options.javac

// The SBOM plug-in reads these in a way that sbt does not see.
Global / excludeLintKeys ++= Set(bomFileName, enableBomSha3Hashes, includeBomSerialNumber, includeBomTimestamp)

// In place of sbt's own restrictions, one of which is a single test JVM at a time.
Global / concurrentRestrictions := Seq(Tags.limit(Tags.CPU, 2), Tags.limit(Tags.ForkedTestGroup, 13))

// The testkit's logger is for its own process; inside Spark's JVM, Spark's is used.
val sparksLogger = excludeDependencies += ExclusionRule("org.slf4j", "slf4j-simple")

val internal = Seq(publish / skip := true, assembly / skip := true)

// Benchmarks have a build of their own, in benchmarks/.
lazy val root = (project in file("."))
  // The connector for older lines of Spark is in nobody's loop but that of `make test`: allLines.
  .aggregate(connectorOf4, testkit, integrationTests, fuzz, simulation)
  .settings(
    internal,
    name := "kinesis-spark-root",
    // That build has no plug-in of its own.
    Compile / scalafmt / unmanagedSources ++=
      (baseDirectory.value / "benchmarks" ** ("*.scala" || "*.sbt") --- baseDirectory.value / "benchmarks" ** "target" ** "*").get
  )

lazy val allLines =
  (project in file("project/all-lines")).aggregate(connector.projectRefs: _*).settings(publish / skip := true)

/** One row for each line of Spark and Scala, all of the same sources. */
lazy val connector = (projectMatrix in file("connector"))
  .defaultAxes(VirtualAxis.jvm, VirtualAxis.scalaABIVersion(Versions.scala), SparkLine.Spark4)
  .settings(
    TestJvms.settings,
    ConnectorJar.thinJarAside,
    module        := thisProject.value.id,
    baseDirectory := (ThisBuild / baseDirectory).value / "connector",
    testJvms      := 2,
    // Parts of the build, which has no tests.
    Test / unmanagedSources ++= Seq("project/PinnedPlugins.scala", "SourceCommit.scala")
      .map((ThisBuild / baseDirectory).value / "project" / _),
    libraryDependencies ++= Dependencies.connector.value ++ Dependencies.connectorTests,
    Compile / PB.targets := Seq(PB.gens.java(Versions.protobuf) -> (Compile / sourceManaged).value / "protobuf"),
    PB.protocVersion     := Versions.protobuf
  )
  .customRow(Seq(Versions.scala), Seq(SparkLine.Spark4, VirtualAxis.jvm), ConnectorJar.settings(SparkLine.Spark4))
  .customRow(
    Seq(Versions.scala),
    Seq(SparkLine.Spark35, VirtualAxis.jvm),
    ConnectorJar.settings(SparkLine.Spark35) ++ olderSpark
  )
  .customRow(
    Seq(Versions.scala212),
    Seq(SparkLine.Spark35, VirtualAxis.jvm),
    ConnectorJar.settings(SparkLine.Spark35) ++ olderSpark ++ Scala212.settings
  )

// Real-time mode came with Spark 4.1; KinesisStream loads it by name. The architecture's rules are those of the whole connector.
lazy val olderSpark = Seq(
  Compile / unmanagedSources / excludeFilter := realTime,
  Test / unmanagedSources / excludeFilter    := realTime || new ExactFilter("ArchitectureSpec.scala"),
  Compile / packageSrc / mappings            := (connectorOf4 / Compile / packageSrc / mappings).value,
  Compile / packageDoc                       := (connectorOf4 / Compile / packageDoc).value
)

val realTime = new SimpleFileFilter(_.getParentFile.getName == "realtime")

lazy val connectorOf4 = LocalProject("connector")

lazy val testkit = (project in file("testkit"))
  .settings(
    TestJvms.settings,
    ConnectorJar.thinJarAside,
    ConnectorJar.papers,
    name := "kinesis-spark-testkit",
    libraryDependencies ++= Dependencies.testkit,
    // `java -jar` for tests in other processes and other languages.
    Compile / mainClass              := Some("io.github.kinesisspark.testkit.Main"),
    assembly / mainClass             := (Compile / mainClass).value,
    assembly / assemblyJarName       := s"kinesis-spark-testkit-${version.value}.jar",
    assembly / assemblyMergeStrategy := {
      // Jetty finds its ALPN processors and HTTP encoders through service files.
      case PathList("META-INF", "services", _*) => MergeStrategy.filterDistinctLines
      case "module-info.class"                  => MergeStrategy.discard
      case PathList("META-INF", "MANIFEST.MF" | "maven" | "native-image" | "versions", _*) => MergeStrategy.discard
      // Ours, and THIRD-PARTY.txt, say what those of the libraries say.
      case PathList("META-INF", "LICENSE" | "NOTICE") => MergeStrategy.preferProject
      case PathList("META-INF", _*)                   => MergeStrategy.first
      // Of the Scala library's own documentation and compiler.
      case "rootdoc.txt" | "library.properties" => MergeStrategy.discard
      case other                                => (assembly / assemblyMergeStrategy).value(other)
    }
  )

lazy val integrationTests = (project in file("integration-tests"))
  .dependsOn(connectorOf4 % "test->compile;test->test;provided->provided", testkit % "test->compile;test->test")
  .settings(
    TestJvms.settings,
    internal,
    sparksLogger,
    name                                       := "kinesis-spark-integration-tests",
    libraryDependencies ++= (Dependencies.spark % Test) +: (Dependencies.testing ++ Dependencies.kafkaTests),
    // What a program of the tests prints is for other programs.
    Test / run / outputStrategy := Some(StdoutOutput),
    // Suites mostly wait for queries and servers, so a few JVMs share the work.
    testJvms := 4,
    testJvmOptions += "-Dspark.hadoop.fs.AbstractFileSystem.file.impl=io.github.kinesisspark.it.LocalFiles",
    // Programs that runMain starts must find AWS.
    testJvmOptions ++= TestJvms.ownHosts.value,
    // The tests run in a JVM of their own, which knows sbt's environment but not its system properties.
    Test / javaOptions ++= sys.props.get("KINESIS_TARGETS").map(names => s"-DKINESIS_TARGETS=$names").toSeq
  )

// The engine under virtual time, from one seed. Its main classes are models for tests, and nothing of it is published.
lazy val simulation = (project in file("simulation"))
  .dependsOn(connectorOf4)
  .settings(
    TestJvms.settings,
    internal,
    name           := "kinesis-spark-simulation",
    Compile / fork := true,
    // Four times as many worlds in the first minute: the optimizing compiler takes most of its CPU.
    Compile / run / javaOptions ++= Seq("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    Compile / run / outputStrategy := Some(StdoutOutput),
    libraryDependencies ++= Dependencies.spark +: Dependencies.testing
  )

lazy val fuzz = (project in file("fuzz"))
  .dependsOn(connectorOf4, testkit)
  .settings(
    TestJvms.settings,
    internal,
    sparksLogger,
    name                           := "kinesis-spark-fuzz",
    Compile / fork                 := true,
    Compile / run / outputStrategy := Some(StdoutOutput),
    // Coverage-guided fuzzing of JVM code: libFuzzer's mutations, fed by what the code does with them.
    libraryDependencies ++= Seq(Dependencies.spark, "com.code-intelligence" % "jazzer" % Versions.jazzer) ++
      Dependencies.testing
  )
