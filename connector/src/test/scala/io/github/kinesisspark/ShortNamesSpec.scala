package io.github.kinesisspark

import java.net.{URL, URLClassLoader}
import java.nio.file.Files
import java.util.jar.{JarEntry, JarOutputStream}

import scala.util.Using

import org.apache.spark.sql.decoy.DecoyKinesisSource
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.DataSourceRegister
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ShortNamesSpec extends AnyFunSpec with Matchers {
  private val ours = classOf[KinesisTableProvider]

  private def found(name: String): Class[_] = DataSource.lookupDataSource(name, new SQLConf)

  /** A JAR that registers the decoy. */
  private lazy val decoyJar: URL = {
    val file = Files.createTempFile("decoy", ".jar")
    Using.resource(new JarOutputStream(Files.newOutputStream(file))) { jar =>
      jar.putNextEntry(new JarEntry(s"META-INF/services/${classOf[DataSourceRegister].getName}"))
      jar.write(classOf[DecoyKinesisSource].getName.getBytes)
      jar.closeEntry()
    }
    file.toUri.toURL
  }

  private def besideDecoy[A](body: => A): A =
    Using.resource(new URLClassLoader(Array(decoyJar), getClass.getClassLoader))(ContextClassLoader.within(_)(body))

  describe("the source and the sink") {
    it("are found as kinesis, as kinesis_spark and by the name of the class") {
      found("kinesis") shouldBe ours
      ours.isAssignableFrom(found("kinesis_spark")) shouldBe true
      found(ours.getName) shouldBe ours
    }

    it(
      "are found as kinesis_spark and by the name of the class beside another source named kinesis below org.apache.spark"
    ) {
      besideDecoy {
        found("kinesis") shouldBe classOf[DecoyKinesisSource]
        ours.isAssignableFrom(found("kinesis_spark")) shouldBe true
        found(ours.getName) shouldBe ours
      }
    }
  }
}
