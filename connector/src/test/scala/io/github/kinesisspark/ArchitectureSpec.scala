package io.github.kinesisspark

import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import org.scalatest.funspec.AnyFunSpec

/** The directions of the design's rooms. */
class ArchitectureSpec extends AnyFunSpec {
  private val root                  = "io.github.kinesisspark"
  private lazy val all: JavaClasses =
    new ClassFileImporter()
      // ArchUnit's own option for it doesn't know sbt's directories.
      .withImportOption(!_.contains("/test-classes/"))
      .importPackages(root, "org.apache.spark.kinesisspark")

  private def rule(packages: String*)(forbidden: String*): Unit =
    noClasses.that
      .resideInAnyPackage(packages: _*)
      .should
      .dependOnClassesThat
      .resideInAnyPackage(forbidden: _*)
      .check(all)

  describe("imports") {
    it("of positions, aggregation and planning name neither the AWS SDK nor Spark") {
      rule(s"$root.position..", s"$root.aggregation..", s"$root.read.plan..")("software.amazon..", "org.apache.spark..")
    }

    it("of options name neither the AWS SDK nor Spark") {
      rule(s"$root.config..")("software.amazon..", "org.apache.spark..")
    }

    it("point one way: positions know nobody, options and aggregation only positions, AWS only the first two") {
      rule(s"$root.position..")(s"$root.config..", s"$root.aggregation..", s"$root.aws..", s"$root.read..")
      rule(s"$root.aggregation..")(s"$root.config..", s"$root.aws..", s"$root.read..")
      rule(s"$root.config..")(s"$root.aws..", s"$root.read..")
      rule(s"$root.aws..")(s"$root.read..")
    }

    it("of writing name no reader, and its decisions neither the AWS SDK nor Spark") {
      rule(s"$root.write..")(s"$root.read..")
      rule(s"$root.aws..", s"$root.config..", s"$root.read..")(s"$root.write..")
      rule(s"$root.write.send..")("software.amazon..", "org.apache.spark..")
    }

    it("of planning name no reader") {
      rule(s"$root.read.plan..")(s"$root.read.shard..", s"$root.aws..", s"$root.config..")
    }
  }

  it("only one file stands in Spark's own packages") {
    val inSpark = all.stream.filter(_.getPackageName.startsWith("org.apache.spark")).toArray.toSeq.map(_.toString)
    assert(inSpark.forall(_.contains("ClusterExecutors")), inSpark)
  }
}
