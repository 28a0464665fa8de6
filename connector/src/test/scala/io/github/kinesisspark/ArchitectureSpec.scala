package io.github.kinesisspark

import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import org.scalatest.funspec.AnyFunSpec

/** Checks which packages of the connector may depend on which. */
class ArchitectureSpec extends AnyFunSpec {
  import ConnectorClasses.{all, root}

  private def rule(packages: String*)(forbidden: String*): Unit =
    noClasses.that
      .resideInAnyPackage(packages: _*)
      .should
      .dependOnClassesThat
      .resideInAnyPackage(forbidden: _*)
      .check(all)

  describe("package dependencies") {
    it("position, aggregation and read.plan use neither the AWS SDK nor Spark") {
      rule(s"$root.position..", s"$root.aggregation..", s"$root.read.plan..")("software.amazon..", "org.apache.spark..")
    }

    it("config uses neither the AWS SDK nor Spark") {
      rule(s"$root.config..")("software.amazon..", "org.apache.spark..")
    }

    it("point one way: position knows no other package, aws knows only position, aggregation and config") {
      rule(s"$root.position..")(s"$root.config..", s"$root.aggregation..", s"$root.aws..", s"$root.read..")
      rule(s"$root.aggregation..")(s"$root.config..", s"$root.aws..", s"$root.read..")
      rule(s"$root.config..")(s"$root.aws..", s"$root.read..")
      rule(s"$root.aws..")(s"$root.read..")
    }

    it("write and read don't use each other, and write.send uses neither the AWS SDK nor Spark") {
      rule(s"$root.write..")(s"$root.read..")
      rule(s"$root.aws..", s"$root.config..", s"$root.read..")(s"$root.write..")
      rule(s"$root.write.send..")("software.amazon..", "org.apache.spark..")
    }

    it("read.plan uses no shard reader, AWS client or option") {
      rule(s"$root.read.plan..")(s"$root.read.reader..", s"$root.aws..", s"$root.config..")
    }
  }

  it("ClusterExecutors, RpcChannel and SparkMetrics are the only classes in an org.apache.spark package") {
    val inSpark = all.stream.filter(_.getPackageName.startsWith("org.apache.spark")).toArray.toSeq.map(_.toString)
    assert(inSpark.forall(name => Seq("ClusterExecutors", "RpcChannel", "SparkMetrics").exists(name.contains)), inSpark)
  }
}
