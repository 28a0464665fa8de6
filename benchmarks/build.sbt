// Benchmarks and peers: ./sbt -C benchmarks "runMain ...". They run on the connector's JAR and the local server's as users have them, from dist:
// `make package` builds these, and so do the targets of benchmarks.
ThisBuild / scalaVersion := Versions.scala
ThisBuild / scalacOptions ++= Options.scalac

/** The newest JAR in dist of these names. */
def built(name: String) = Def.task {
  val jars = ((ThisBuild / baseDirectory).value / ".." / "dist" * s"$name-*.jar").get
  Attributed.blank(jars.sortBy(_.lastModified).lastOption.getOrElse(sys.error(s"dist has no $name: run make package")))
}

val connectorJar = built("kinesis-spark-4_2.13")

val spark = "org.apache.spark" %% "spark-sql"    % Versions.spark
val slf4j = "org.slf4j"         % "slf4j-simple" % Versions.slf4j

lazy val benchmarks = (project in file("."))
  .settings(
    fork := true,
    javaOptions ++= Options.spark,
    Compile / unmanagedJars ++= Seq(connectorJar.value, built("kinesis-spark-testkit").value),
    // The local server's JAR has a logger, too: Spark's comes first, as the first is taken.
    Runtime / externalDependencyClasspath := (Runtime / managedClasspath).value ++ (Runtime / unmanagedClasspath).value,
    libraryDependencies ++= Seq(
      spark,
      "com.lihaoyi" %% "ujson" % Versions.ujson
    )
  )

// Other readers of Kinesis, and this one, for `make bench-peers`: programs that the benchmark starts in processes of their own, because their class
// paths clash.
lazy val peers = project.aggregate(peerProtocol, peerConnector, peerFlink, peerKcl, dynamoDbLocal)

// The SDK alone, beside which `make bench-beside-sdk` measures the connector: a program for a process of its own.
lazy val bare = (project in file("bare")).settings(
  classPathToFile,
  libraryDependencies ++= Seq(
    "software.amazon.awssdk" % "kinesis"          % Versions.awsSdk,
    "software.amazon.awssdk" % "netty-nio-client" % Versions.awsSdk,
    "com.lihaoyi"           %% "ujson"            % Versions.ujson,
    // The SDK reports each call that is open when its client closes.
    "org.slf4j" % "slf4j-nop" % Versions.slf4j
  )
)

lazy val classPathFile = taskKey[Unit]("Writes the class path to start the program with into a file.")

lazy val classPathToFile = classPathFile := IO.write(
  target.value / "class-path.txt",
  (Runtime / fullClasspath).value.files.mkString(java.io.File.pathSeparator)
)

lazy val peerProtocol = (project in file("peers/protocol")).settings(classPathToFile)

lazy val peerConnector = (project in file("peers/connector"))
  .dependsOn(peerProtocol)
  .settings(classPathToFile, libraryDependencies += spark, Runtime / unmanagedJars += connectorJar.value)

lazy val peerFlink = (project in file("peers/flink"))
  .dependsOn(peerProtocol)
  .settings(
    classPathToFile,
    libraryDependencies ++= Seq(
      "org.apache.flink" % "flink-streaming-java"    % Versions.flink,
      "org.apache.flink" % "flink-clients"           % Versions.flink,
      "org.apache.flink" % "flink-connector-kinesis" % Versions.flinkKinesis,
      slf4j
    )
  )

lazy val peerKcl = (project in file("peers/kcl"))
  .dependsOn(peerProtocol)
  .settings(
    classPathToFile,
    libraryDependencies ++= Seq("software.amazon.kinesis" % "amazon-kinesis-client" % Versions.kcl, slf4j)
  )

// Where the KCL keeps leases. Its native library comes as a file that has to be found by its plain name.
lazy val dynamoDbLocal = (project in file("peers/dynamodb-local"))
  .settings(
    classPathToFile,
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

// Kafka to Kafka beside Kinesis to Kinesis, for `make bench-beside-kafka`. It runs on PySpark's JARs, as Maven Central has no Spark 4.3, whose real-time mode
// has operators with state: so Spark isn't in its class path, and the source of Kafka is that of the newest Spark there.
lazy val besideKafka = (project in file("beside-kafka")).settings(
  classPathToFile,
  Compile / unmanagedJars += connectorJar.value,
  Compile / unmanagedSources +=
    (ThisBuild / baseDirectory).value / "../integration-tests/src/test/scala/io/github/kinesisspark/it/source/KafkaBroker.scala",
  libraryDependencies ++= Seq(
    spark               % Provided,
    "org.apache.spark" %% "spark-sql-kafka-0-10" % Versions.spark excludeAll ExclusionRule("org.apache.spark"),
    "org.apache.spark" %% "spark-token-provider-kafka-0-10" % Versions.spark excludeAll ExclusionRule(
      "org.apache.spark"
    ),
    // The broker. The JSON, network and logging libraries of Spark's JARs serve.
    "org.apache.kafka" %% "kafka" % Versions.kafka excludeAll (
      ExclusionRule("org.slf4j"),
      ExclusionRule("io.netty"),
      ExclusionRule("com.fasterxml.jackson.core"),
      ExclusionRule("com.fasterxml.jackson.module"),
      ExclusionRule("com.fasterxml.jackson.datatype")
    ),
    "com.lihaoyi" %% "ujson" % Versions.ujson
  )
)
