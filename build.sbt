ThisBuild / organization := "io.github.kinesisspark"
// A tag is a release's name; all else is a snapshot of the version to come. A JAR's manifest has the commit, and file names stay.
ThisBuild / version :=
  dynverGitDescribeOutput.value
    .filterNot(_.isSnapshot())
    .fold(s"${Versions.project}-SNAPSHOT")(_.ref.value.stripPrefix("v"))
ThisBuild / scalaVersion := Versions.scala
ThisBuild / scalacOptions ++= Seq(
  "-deprecation",
  "-feature",
  "-unchecked",
  "-Xsource:3",
  "-Xsource-features:case-apply-copy-access",
  "-Xlint:_,-byname-implicit",
  "-Wdead-code",
  "-Wunused",
  "-Werror",
  "-release:17"
)
// Kernel-level JVM switches that Spark needs on JDK 17 (Spark's own JavaModuleOptions).
val sparkJvmOptions = Seq(
  "java.base/java.lang",
  "java.base/java.lang.invoke",
  "java.base/java.lang.reflect",
  "java.base/java.io",
  "java.base/java.net",
  "java.base/java.nio",
  "java.base/java.util",
  "java.base/java.util.concurrent",
  "java.base/java.util.concurrent.atomic",
  "java.base/jdk.internal.ref",
  "java.base/sun.nio.ch",
  "java.base/sun.nio.cs",
  "java.base/sun.security.action",
  "java.base/sun.util.calendar"
).map(p => s"--add-opens=$p=ALL-UNNAMED") ++ Seq(
  "-XX:+IgnoreUnrecognizedVMOptions",
  "-Djdk.reflect.useDirectMethodHandle=false"
)

lazy val isScala212 = Def.setting(scalaBinaryVersion.value == "2.12")

// The offset JSON and other JSON of ours: small, relocatable, no clash with Spark's Jackson.
def ujson = Def.setting("com.lihaoyi" %% "ujson" % (if (isScala212.value) Versions.ujson212 else Versions.ujson))

// The KPL's aggregated records are Protocol Buffers. The library that has them, the KCL, brings DynamoDB and CloudWatch.
val protobuf = "com.google.protobuf" % "protobuf-java" % Versions.protobuf

// Spark brings the logging interface, and the SDK would bring HTTP clients that nothing uses.
val notOurs = Seq(
  ExclusionRule("org.slf4j"),
  ExclusionRule("software.amazon.awssdk", "apache-client"),
  ExclusionRule("software.amazon.awssdk", "apache5-client")
)

val spark      = "org.apache.spark"      %% "spark-sql"        % Versions.spark
val awsKinesis = "software.amazon.awssdk" % "kinesis"          % Versions.awsSdk excludeAll (notOurs: _*)
val awsNetty   = "software.amazon.awssdk" % "netty-nio-client" % Versions.awsSdk excludeAll (notOurs: _*)
// Roles and web identities, of options and of the default chain.
val awsSts = "software.amazon.awssdk" % "sts" % Versions.awsSdk excludeAll (notOurs: _*)
// Profiles of SSO (`aws sso login`) and of `aws login`.
val awsSso     = "software.amazon.awssdk" % "sso"     % Versions.awsSso excludeAll (notOurs: _*)
val awsSsoOidc = "software.amazon.awssdk" % "ssooidc" % Versions.awsSso excludeAll (notOurs: _*)
val awsSignin  = "software.amazon.awssdk" % "signin"  % Versions.awsSignin excludeAll (notOurs: _*)

// Credentials classes of version 1; its other libraries are for calls.
val awsSdk1 = ("com.amazonaws" % "aws-java-sdk-core" % Versions.awsSdk1 % Test).intransitive()

val scalatest  = "org.scalatest"       %% "scalatest"       % Versions.scalatest           % Test
val scalacheck = "org.scalatestplus"   %% "scalacheck-1-18" % Versions.scalatestScalacheck % Test
val archunit   = "com.tngtech.archunit" % "archunit"        % Versions.archunit            % Test
// Tells what other consumers make of an aggregated record; only its own classes are needed for that.
val kcl = ("software.amazon.kinesis" % "amazon-kinesis-client" % Versions.kcl % Test).intransitive()

val shadedPackage = "io.github.kinesisspark.shaded"

/** sbt's own JAR, without the dependencies, must not take the place of the assembled one. */
val thinJarAside =
  Compile / packageBin / artifactPath := target.value / "thin" / s"${name.value}-${version.value}.jar"

// Which suites a run takes (project/Suites.scala).
val testLoop = new TestLoop(sys.env.getOrElse("TEST_LOOP", ""))

/** A test JVM of its own: Spark keeps state per JVM, and sbt's heap is not the suite's. What it prints goes to a file below
  * build/logs. None lives long enough for the optimizing compiler's work, on the tests' cores, to pay; one loop is there to
  * run optimized code all the same. Without that compiler the JVM reserves too little room for the code of a Spark.
  */
val forkedTests = Seq(
  module      := baseDirectory.value.getName,
  Test / fork := true,
  Test / javaOptions ++= sparkJvmOptions ++ Seq("-Xmx3g", "-XX:+UseSerialGC", "-Dspark.ui.enabled=false"),
  Test / javaOptions ++= (if (testLoop.isOptimized) Nil
                          else Seq("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m")),
  // An eighth of the CPU that the start of a Spark takes. What the compiler makes is verified where the assembled JAR runs.
  Test / javaOptions ++= Seq("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
  // Of a module's JVMs, side by side; within one, suite comes after suite.
  Test / parallelExecution := true,
  Test / testOptions ++= Seq(
    Tests.Filter(testLoop.has(module.value, _)),
    // A line for each suite and what failed; all by hand.
    Tests.Argument(TestFrameworks.ScalaTest, if (testLoop.isByHand) "-oDFIK" else "-oNCXELOPQRM"),
    Tests.Argument(TestFrameworks.ScalaTest, testLoop.arguments: _*),
    Tests.Argument(TestFrameworks.ScalaTest, "-u", testReports.value.getPath)
  ),
  // Its reports would be sbt's own, which leave out that a test was canceled.
  Test / testListeners := Nil,
  testReports          := (ThisBuild / baseDirectory).value / "build" / "test-reports" /
    (module.value + (if (testLoop.isOptimized) "-optimized" else "")),
  Test / testGrouping := {
    val build  = (ThisBuild / baseDirectory).value / "build"
    val fork   = (Test / forkOptions).value
    val more   = testJvmOptions.value
    val suites =
      (Test / definedTests).value.filter(test => testLoop.has(module.value, test.name)).map(t => t.name -> t).toMap
    // The summary of a run misses those of which no report comes. Others are parts of suites, or started by a suite.
    val reporting = suites.keys.filter(name => name.endsWith("Spec") || name.endsWith("Test"))
    IO.writeLines(testReports.value / "suites.txt", reporting.toSeq.sorted)
    TestLoop
      .jvms(suites.keys.toSeq, testJvms.value, (ThisBuild / baseDirectory).value / "project" / "suite-seconds.txt")
      .map { case (jvm, members) =>
        val its = fork
          .withOutputStrategy(OutputStrategy.LoggedOutput(new FileLog(build / "logs" / s"${module.value}-$jvm.log")))
          // Tests read and write AWS files below HOME: not those of the person who runs them.
          .withEnvVars(fork.envVars ++ testLoop.environment(jvm) + ("HOME" -> (build / "test-home").getPath))
          .withRunJVMOptions(fork.runJVMOptions ++ more)
        Tests.Group(jvm, members.map(suites), Tests.SubProcess(its))
      }
  },
  testJvms       := 1,
  testJvmOptions := Nil
)

lazy val module         = settingKey[String]("The name of a module in reports and logs.")
lazy val testReports    = settingKey[File]("Where ScalaTest's own JUnit reports of a module go.")
lazy val testJvms       = settingKey[Int]("How many test JVMs share a module's suites.")
lazy val testJvmOptions = settingKey[Seq[String]]("Options of test JVMs alone, not of programs that runMain starts.")

// The SBOM plug-in reads these in a way that sbt does not see.
Global / excludeLintKeys ++= Set(bomFileName, enableBomSha3Hashes, includeBomSerialNumber, includeBomTimestamp)

// In place of sbt's own restrictions, one of which is a single test JVM at a time.
Global / concurrentRestrictions := Seq(Tags.limit(Tags.CPU, 2), Tags.limit(Tags.ForkedTestGroup, 13))

lazy val root = (project in file("."))
  // The connector for older lines of Spark is in nobody's loop but that of `make test`: allLines.
  .aggregate(connectorOf4, testkit, integrationTests, benchmarks, fuzz)
  .settings(name := "kinesis-spark-root", publish / skip := true, assembly / skip := true)

lazy val allLines =
  (project in file("project/all-lines")).aggregate(connector.projectRefs: _*).settings(publish / skip := true)

/** Everything that is not the connector's own gets names of its own, so that it can't clash with Spark's. */
lazy val relocation =
  assembly / assemblyShadeRules := Seq(
    ShadeRule
      .rename(
        Seq(
          "software.amazon.awssdk",
          "software.amazon.eventstream",
          "io.netty",
          "org.reactivestreams",
          "ujson",
          "upickle",
          "geny",
          "com.google.protobuf",
          // What Scala 2.12 lacks of 2.13's library.
          "scala.collection.compat",
          "scala.util.control.compat",
          "scala.util.matching.compat",
          "scala.jdk"
        ).filter(p => isScala212.value || !p.startsWith("scala.")).map(p => s"$p.**" -> s"$shadedPackage.$p.@1") ++
          Seq("scala.util.Using", "scala.util.Chaining", "scala.util.chaining", "scala.annotation.unused")
            .filter(_ => isScala212.value)
            .map(p => s"$p*" -> s"$shadedPackage.$p@1"): _*
      )
      .inAll
  )

/** The connector's JAR for a line of Spark: everything but Spark and Scala in it, relocated. */
def connectorJar(line: SparkLine): Seq[Setting[_]] = Publishing.settings(line) ++ Seq(
  name := s"kinesis-spark-${line.name}",
  // sbt would write 3-5.
  moduleName := name.value,
  libraryDependencies ++= Seq(
    "org.apache.spark" %% "spark-sql" % line.spark % Provided,
    awsKinesis,
    awsNetty,
    awsSts,
    awsSso,
    awsSsoOidc,
    awsSignin,
    ujson.value,
    protobuf
  ),
  // What ConnectorJar reads.
  Compile / resourceGenerators += Def.task {
    val file = (Compile / resourceManaged).value / "META-INF" / "kinesis-spark.properties"
    IO.write(file, s"version=${version.value}\nspark=${line.name}\nscala=${scalaBinaryVersion.value}\n")
    Seq(file)
  }.taskValue,
  Compile / PB.targets       := Seq(PB.gens.java(Versions.protobuf) -> (Compile / sourceManaged).value / "protobuf"),
  PB.protocVersion           := Versions.protobuf,
  assembly / assemblyJarName := s"${name.value}_${scalaBinaryVersion.value}-${version.value}.jar",
  assembly / assemblyOption ~= (_.withIncludeScala(false)),
  assembly / test := {},
  relocation,
  assembly / assemblyMergeStrategy := {
    case PathList("META-INF", "services", _*)                 => MergeStrategy.filterDistinctLines
    case PathList("META-INF", "MANIFEST.MF" | "INDEX.LIST")   => MergeStrategy.discard
    case PathList("META-INF", "io.netty.versions.properties") => MergeStrategy.discard
    case PathList("META-INF", "native-image", _*)             => MergeStrategy.discard
    case PathList("META-INF", "maven", _*)                    => MergeStrategy.discard
    case PathList("META-INF", "versions", _*)                 => MergeStrategy.discard
    case path if path.endsWith("module-info.class")           => MergeStrategy.discard
    case path if path.endsWith(".proto")                      => MergeStrategy.discard
    // Sources and test data in the SDK's JARs.
    case "VersionInfo.java" | "utf8.json" => MergeStrategy.discard
    // Ours needs no 2 MiB for each subscription.
    case path if path.endsWith("eventstream/MessageDecoder.class") => MergeStrategy.preferProject
    // Ours, and THIRD-PARTY.txt, say what those of the libraries say.
    case PathList("META-INF", "LICENSE" | "NOTICE") => MergeStrategy.preferProject
    case PathList("META-INF", file) if file.matches("(?i).*(LICENSE|NOTICE|DEPENDENCIES).*") => MergeStrategy.rename
    case PathList("META-INF", _*)                                                            => MergeStrategy.first
    case _ => MergeStrategy.deduplicate
  }
)

/** One row for each line of Spark and Scala, all of the same sources. */
lazy val connector = (projectMatrix in file("connector"))
  .defaultAxes(VirtualAxis.jvm, VirtualAxis.scalaABIVersion(Versions.scala), SparkLine.Spark4)
  .settings(
    forkedTests,
    thinJarAside,
    module        := thisProject.value.id,
    baseDirectory := (ThisBuild / baseDirectory).value / "connector",
    testJvms      := 3,
    // Part of the build's own build, which has no tests.
    Test / unmanagedSources += (ThisBuild / baseDirectory).value / "project" / "project" / "PinnedPlugins.scala",
    libraryDependencies ++= Seq(scalatest, scalacheck, archunit, kcl, awsSdk1)
  )
  .customRow(Seq(Versions.scala), Seq(SparkLine.Spark4, VirtualAxis.jvm), connectorJar(SparkLine.Spark4))
  .customRow(
    Seq(Versions.scala),
    Seq(SparkLine.Spark35, VirtualAxis.jvm),
    connectorJar(SparkLine.Spark35) ++ olderSpark
  )
  .customRow(
    Seq(Versions.scala212),
    Seq(SparkLine.Spark35, VirtualAxis.jvm),
    connectorJar(SparkLine.Spark35) ++ olderSpark ++ Scala212.settings
  )

// Real-time mode came with Spark 4.1; MicroBatchStreams loads it by name.
lazy val olderSpark = Seq(
  Compile / unmanagedSources / excludeFilter := realTime,
  Test / unmanagedSources / excludeFilter    := realTime,
  Compile / packageSrc / mappings            := (connectorOf4 / Compile / packageSrc / mappings).value,
  Compile / packageDoc                       := (connectorOf4 / Compile / packageDoc).value
)

val realTime = new SimpleFileFilter(_.getParentFile.getName == "realtime")

lazy val connectorOf4 = LocalProject("connector")

lazy val testkit = (project in file("testkit"))
  .settings(forkedTests)
  .settings(
    thinJarAside,
    name := "kinesis-spark-testkit",
    libraryDependencies ++= Seq(
      // HTTP/1.1 and HTTP/2 server; Spark relocates its own Jetty, so this one is safe in Spark's JVM.
      "org.eclipse.jetty"       % "jetty-server"           % Versions.jetty,
      "org.eclipse.jetty.http2" % "jetty-http2-server"     % Versions.jetty,
      "org.eclipse.jetty"       % "jetty-alpn-java-server" % Versions.jetty,
      // The service's two wire formats.
      "com.fasterxml.jackson.core"       % "jackson-databind"        % Versions.jackson,
      "com.fasterxml.jackson.dataformat" % "jackson-dataformat-cbor" % Versions.jackson,
      // The frames of SubscribeToShard's answer: the SDK's own encoder, the very one its clients decode with.
      "software.amazon.eventstream" % "eventstream" % Versions.eventstream,
      // The command line of `java -jar`.
      "info.picocli" % "picocli"      % Versions.picocli,
      "org.slf4j"    % "slf4j-api"    % Versions.slf4j,
      "org.slf4j"    % "slf4j-simple" % Versions.slf4j % Runtime,
      scalatest,
      scalacheck,
      awsKinesis % Test,
      awsNetty   % Test
    ),
    // `java -jar` for tests in other processes and other languages.
    Compile / mainClass              := Some("io.github.kinesisspark.testkit.Main"),
    assembly / mainClass             := (Compile / mainClass).value,
    assembly / assemblyJarName       := s"kinesis-spark-testkit-${version.value}.jar",
    assembly / assemblyMergeStrategy := {
      // Jetty finds its ALPN processors and HTTP encoders through service files.
      case PathList("META-INF", "services", _*) => MergeStrategy.filterDistinctLines
      case PathList("META-INF", xs @ _*) if xs.lastOption.contains("module-info.class") => MergeStrategy.discard
      case "module-info.class"                                                          => MergeStrategy.discard
      case PathList("META-INF", "MANIFEST.MF")                                          => MergeStrategy.discard
      case PathList("META-INF", _*)                                                     => MergeStrategy.first
      case other => (assembly / assemblyMergeStrategy).value(other)
    }
  )

lazy val integrationTests = (project in file("integration-tests"))
  .dependsOn(connectorOf4 % "test->compile;test->test;provided->provided", testkit % "test->compile;test->test")
  .settings(forkedTests)
  .settings(
    name            := "kinesis-spark-integration-tests",
    publish / skip  := true,
    assembly / skip := true,
    libraryDependencies ++= Seq(spark % Test, scalatest, scalacheck),
    // What a program of the tests prints is for other programs.
    Test / run / outputStrategy := Some(StdoutOutput),
    // Suites mostly wait for queries and servers, so a few JVMs share the work.
    testJvms := 6,
    testJvmOptions += "-Dspark.hadoop.fs.AbstractFileSystem.file.impl=io.github.kinesisspark.it.LocalFiles",
    // Programs that runMain starts must find AWS.
    testJvmOptions ++= TestHosts.options((ThisBuild / baseDirectory).value / "build"),
    // The tests run in a JVM of their own, which knows sbt's environment but not its system properties.
    Test / javaOptions ++= sys.props.get("KINESIS_TARGETS").map(names => s"-DKINESIS_TARGETS=$names").toSeq,
    // The testkit's logger is for its own process; inside Spark's JVM, Spark's is used.
    excludeDependencies += ExclusionRule("org.slf4j", "slf4j-simple")
  )

// Benchmarks run as users' programs do: with Spark's JARs, and one of everything else, relocated as in the connector's JAR. On one class path Spark's Netty
// would take the place of the SDK's.
lazy val benchmarks = (project in file("benchmarks"))
  .dependsOn(connectorOf4, testkit)
  .settings(
    name                       := "kinesis-spark-benchmarks",
    publish / skip             := true,
    fork                       := true,
    assembly / assemblyJarName := s"${name.value}-${version.value}.jar",
    assembly / assemblyOption ~= (_.withIncludeScala(false)),
    relocation,
    assembly / assemblyMergeStrategy := {
      val (ofConnector, ofTestkit) =
        ((connectorOf4 / assembly / assemblyMergeStrategy).value, (testkit / assembly / assemblyMergeStrategy).value)
      path => if (path.startsWith("META-INF/") || path.contains("eventstream/")) ofConnector(path) else ofTestkit(path)
    },
    Compile / runMain := Defaults
      .runMainTask(
        Def.task(
          Attributed.blank(assembly.value) +: Classpaths.managedJars(Provided, classpathTypes.value, update.value)
        ),
        Compile / run / runner
      )
      .evaluated,
    javaOptions ++= sparkJvmOptions,
    libraryDependencies ++= Seq(
      spark % Provided,
      // Measures nanoseconds per row in JVMs of their own, warm, and the bytes that each row makes.
      "org.openjdk.jmh" % "jmh-core" % Versions.jmh,
      // Makes its code of the annotations, while javac runs.
      "org.openjdk.jmh" % "jmh-generator-annprocess" % Versions.jmh % Provided
    ),
    excludeDependencies += ExclusionRule("org.slf4j", "slf4j-simple")
  )

// Other readers of Kinesis, and this one, for `make bench-peers`: programs that the benchmark starts in processes of their own, because their class
// paths clash. No aggregate has them, so that no other loop resolves or compiles them.
lazy val classPathFile = taskKey[Unit]("Writes the class path to start the program with into a file.")

lazy val peerSettings = Seq(
  publish / skip  := true,
  assembly / skip := true,
  classPathFile   := IO.write(
    target.value / "class-path.txt",
    (Runtime / fullClasspath).value.files.mkString(java.io.File.pathSeparator)
  )
)

lazy val peerProtocol = (project in file("benchmarks/peers/protocol")).settings(peerSettings)

// With the connector's JAR, as users have it.
lazy val peerConnector = (project in file("benchmarks/peers/connector"))
  .dependsOn(peerProtocol)
  .settings(
    peerSettings,
    libraryDependencies += spark,
    Runtime / fullClasspath += Attributed.blank((connectorOf4 / assembly).value)
  )

lazy val peerFlink = (project in file("benchmarks/peers/flink"))
  .dependsOn(peerProtocol)
  .settings(
    peerSettings,
    libraryDependencies ++= Seq(
      "org.apache.flink" % "flink-streaming-java"    % Versions.flink,
      "org.apache.flink" % "flink-clients"           % Versions.flink,
      "org.apache.flink" % "flink-connector-kinesis" % Versions.flinkKinesis,
      "org.slf4j"        % "slf4j-simple"            % Versions.slf4j
    )
  )

lazy val peerKcl = (project in file("benchmarks/peers/kcl"))
  .dependsOn(peerProtocol)
  .settings(
    peerSettings,
    libraryDependencies ++= Seq(
      "software.amazon.kinesis" % "amazon-kinesis-client" % Versions.kcl,
      "org.slf4j"               % "slf4j-simple"          % Versions.slf4j
    )
  )

// Where the KCL keeps leases. Its native library comes as a file that has to be found by its plain name.
lazy val dynamoDbLocal = (project in file("benchmarks/peers/dynamodb-local"))
  .settings(
    peerSettings,
    libraryDependencies ++= Seq(
      "software.amazon.dynamodb" % "DynamoDBLocal"              % Versions.dynamoDbLocal,
      "com.almworks.sqlite4java" % "libsqlite4java-linux-amd64" % Versions.sqlite4java artifacts
        Artifact("libsqlite4java-linux-amd64", "so", "so")
    ),
    classPathFile := {
      classPathFile.value
      val library = "libsqlite4java-linux-amd64"
      val native  = update.value.allFiles.filter(_.getName.matches(s"$library.*\\.so"))
      native.foreach(file => IO.copyFile(file, target.value / "native" / s"$library.so"))
    }
  )

lazy val fuzz = (project in file("fuzz"))
  .dependsOn(connectorOf4, testkit)
  .settings(forkedTests)
  .settings(
    name                           := "kinesis-spark-fuzz",
    publish / skip                 := true,
    assembly / skip                := true,
    Compile / fork                 := true,
    Compile / run / outputStrategy := Some(StdoutOutput),
    libraryDependencies ++= Seq(
      spark,
      // Coverage-guided fuzzing of JVM code: libFuzzer's mutations, fed by what the code does with them.
      "com.code-intelligence" % "jazzer" % Versions.jazzer,
      scalatest,
      scalacheck
    ),
    excludeDependencies += ExclusionRule("org.slf4j", "slf4j-simple")
  )
