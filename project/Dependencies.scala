import sbt._
import sbt.Keys._

/** The libraries that more than one module takes, or that are cut to what is needed of them. */
object Dependencies {
  val spark = "org.apache.spark" %% "spark-sql" % Versions.spark

  // Spark brings the logging interface, and the SDK would bring HTTP clients that nothing uses.
  private def aws(module: String, version: String = Versions.awsSdk) =
    "software.amazon.awssdk" % module % version excludeAll (
      ExclusionRule("org.slf4j"),
      ExclusionRule("software.amazon.awssdk", "apache-client"),
      ExclusionRule("software.amazon.awssdk", "apache5-client")
    )

  val kinesis: Seq[ModuleID] = Seq(aws("kinesis"), aws("netty-nio-client"))

  val connector: Def.Initialize[Seq[ModuleID]] = Def.setting {
    kinesis ++ Seq(
      // Roles and web identities, of options and of the default chain.
      aws("sts"),
      // Profiles of SSO (`aws sso login`) and of `aws login`.
      aws("sso", Versions.awsSso),
      aws("ssooidc", Versions.awsSso),
      aws("signin", Versions.awsSignin),
      // The offset JSON and other JSON of ours: small, relocatable, no clash with Spark's Jackson.
      "com.lihaoyi" %% "ujson" % (if (scalaBinaryVersion.value == "2.12") Versions.ujson212 else Versions.ujson),
      // The KPL's aggregated records are Protocol Buffers. The library that has them, the KCL, brings DynamoDB and CloudWatch.
      "com.google.protobuf" % "protobuf-java" % Versions.protobuf
    )
  }

  val testing: Seq[ModuleID] = Seq(
    "org.scalatest"     %% "scalatest"       % Versions.scalatest           % Test,
    "org.scalatestplus" %% "scalacheck-1-18" % Versions.scalatestScalacheck % Test
  )

  // Its source, and the broker of the same version that Spark's clients are of. The JVM's own Jackson, Netty and logger serve.
  val kafkaTests: Seq[ModuleID] = Seq(
    "org.apache.spark" %% "spark-sql-kafka-0-10" % Versions.spark % Test,
    "org.apache.kafka" %% "kafka"                % Versions.kafka % Test excludeAll (
      ExclusionRule("org.slf4j"),
      ExclusionRule("io.netty"),
      ExclusionRule("com.fasterxml.jackson.core"),
      ExclusionRule("com.fasterxml.jackson.module"),
      ExclusionRule("com.fasterxml.jackson.datatype")
    )
  )

  val connectorTests: Seq[ModuleID] = testing ++ Seq(
    "com.tngtech.archunit" % "archunit" % Versions.archunit % Test,
    // Shows what other consumers make of an aggregated record; only its own classes are needed for that.
    ("software.amazon.kinesis" % "amazon-kinesis-client" % Versions.kcl % Test).intransitive(),
    // Credentials classes of version 1; its other libraries are for calls.
    ("com.amazonaws" % "aws-java-sdk-core" % Versions.awsSdk1 % Test).intransitive()
  )

  val testkit: Seq[ModuleID] = testing ++ kinesis.map(_ % Test) ++ Seq(
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
    "org.slf4j"    % "slf4j-simple" % Versions.slf4j % Runtime
  )
}
