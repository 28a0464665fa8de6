package io.github.kinesisspark

import java.net.URLClassLoader
import java.nio.file.Files

import org.scalatest.funspec.AnyFunSpec

import io.github.kinesisspark.jar.{BuiltFor, ConnectorJar}

class BuiltForSpec extends AnyFunSpec {

  describe("a connector's JAR") {
    it("runs on each patch of its line of Spark, and on vendors' builds of it") {
      assert(BuiltFor.complaint("3.5", "2.12", "3.5.4-amzn-0", "2.12.18").isEmpty)
      assert(BuiltFor.complaint("4", "2.13", "4.3.0", "2.13.17").isEmpty)
      BuiltFor.check()
    }

    it("refuses another line of Spark, or another Scala, and names the JAR for it") {
      val sentence = BuiltFor.complaint("4", "2.13", "3.5.9", "2.12.18")
      assert(
        sentence == "The JAR kinesis-spark-4_2.13 does not run on Spark 3.5.9 with Scala 2.12.18; use kinesis-spark-3.5_2.12."
      )
      assert(BuiltFor.complaint("3.5", "2.12", "3.5.9", "2.13.8").endsWith("use kinesis-spark-3.5_2.13."))
      assert(BuiltFor.complaint("3.5", "2.12", "4.0.0", "2.13.16").endsWith("use kinesis-spark-4_2.13."))
    }

    it("names no JAR for a Spark that none is for") {
      assert(BuiltFor.complaint("4", "2.13", "3.4.1", "2.12.17").endsWith("the connector runs on Spark 3.5 and 4."))
    }

    it("refuses a Java before 17, though byte code of Scala 2.12 runs there, and says what to set") {
      for (java <- Seq("1.8", "9", "11", "16"))
        assert(
          BuiltFor.olderJava(java).contains(s"runs Java $java: ") && BuiltFor.olderJava(java).contains("JAVA_HOME")
        )
      for (java <- Seq("17", "21", "25")) assert(BuiltFor.olderJava(java).isEmpty)
    }

    it("refuses a class path that has it in two versions, and names both and where they are") {
      refusesBesideOwn("version=0.0.1\ncommit=c0ffee\nspark=4\nscala=2.13\n", "kinesis-spark-4_2.13-0.0.1")
    }

    it("refuses a class path that has it as snapshots of two commits, and names the commits") {
      val own   = ConnectorJar.read(ConnectorJar.file)
      val lines = Seq("version", "spark", "scala").map(key => s"$key=${own.getProperty(key)}") :+ "commit=c0ffee"
      assume(own.getProperty("version").endsWith("-SNAPSHOT"))
      refusesBesideOwn(
        lines.mkString("\n"),
        ConnectorJar.name.replaceAll(" of commit .*", " of commit c0ffee")
      )
    }

    def refusesBesideOwn(properties: String, other: String) = {
      val folder = Files.createTempDirectory("connector")
      val file   = folder.resolve(ConnectorJar.File)
      Files.createDirectories(file.getParent)
      Files.write(file, properties.getBytes)
      val loader = new URLClassLoader(Array(folder.toUri.toURL), Thread.currentThread.getContextClassLoader)
      try
        assert(
          ContextClassLoader.within(loader)(intercept[IllegalArgumentException](BuiltFor.check())).getMessage ==
            s"[KINESIS_WRONG_JAR] The class path has ${ConnectorJar.name} (${ConnectorJar.place}) and $other ($folder). " +
            "Leave one of them, the same on the driver and on all executors. (See docs/reference/errors.md#kinesis_wrong_jar)"
        )
      finally loader.close()
    }
  }
}
