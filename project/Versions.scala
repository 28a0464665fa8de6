/** Every version the build uses, in one place. The Python side reads this file too (`python/tools/versions.py`). */
object Versions {
  // The version to come: what has no tag is a snapshot of it (build.sbt, python/tools/versions.py).
  val project = "0.1.0"

  val scala = "2.13.18"
  // Spark 3.5's own.
  val scala212         = "2.12.18"
  val collectionCompat = "2.14.0"

  // What users run on. The JAR is compiled against this Spark and runs on 4.0 and later.
  val spark = "4.2.0"
  // The JARs for Spark 3.5 (SparkLine.scala).
  val spark35 = "3.5.9"

  val awsSdk = "2.52.0"
  // The login modules: the newest to be had that are no newer than awsSdk. The SDK runs older service modules on a newer core, not the reverse.
  val awsSso    = "2.51.2"
  val awsSignin = "2.46.8"
  // The last of version 1, for tests: users' credentials classes may still be of it.
  val awsSdk1 = "1.12.797"

  // Spark's own Jackson, so that tests which run the testkit inside Spark's JVM see one version.
  val jackson = "2.21.2"
  val jetty   = "12.1.14"
  // The one that awsSdk brings.
  val eventstream = "1.0.1"
  val ujson       = "4.3.2"
  // The last for Scala 2.12.
  val ujson212 = "3.3.1"
  // Spark's own, so that tests see one version; it is the compiler's, too.
  val protobuf = "4.33.5"
  val slf4j    = "2.0.18"
  val picocli  = "4.7.7"

  val scalatest           = "3.2.20"
  val scalatestScalacheck = "3.2.19.0"
  val archunit            = "1.5.0"
  val kcl                 = "3.5.1"
  // The one that Spark's source of Kafka brings.
  val kafka  = "3.9.2"
  val jazzer = "0.24.0"

  // Peers of `make bench-peers`.
  val flink         = "1.19.3"
  val flinkKinesis  = "4.3.0-1.19"
  val dynamoDbLocal = "3.0.0"
  val sqlite4java   = "1.0.392"
}
