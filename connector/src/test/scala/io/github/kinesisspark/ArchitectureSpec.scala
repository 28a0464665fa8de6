package io.github.kinesisspark

import com.tngtech.archunit.base.DescribedPredicate
import com.tngtech.archunit.core.domain.{JavaAccess, JavaClass}
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import org.scalatest.funspec.AnyFunSpec

/** Checks which packages of the connector may depend on which, and who has time, threads and chance from the JVM. */
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

  describe("time, waiting, threads, chance and identity") {
    import ArchitectureSpec._

    it("come from package runtime alone, in read, in write, and where aws waits for calls") {
      noClasses.that(areSimulated).should.accessTargetWhere(isOfJvm).check(all)
    }

    it("are the JVM's own where Spark makes an object by itself, and nowhere else") {
      noClasses
        .that(areSimulated)
        .and(DescribedPredicate.not(areMadeBySpark))
        .should
        .accessTargetWhere(makesOfJvm)
        .check(all)
    }
  }

  it("ClusterExecutors, RpcChannel and SparkMetrics are the only classes in an org.apache.spark package") {
    val inSpark = all.stream.filter(_.getPackageName.startsWith("org.apache.spark")).toArray.toSeq.map(_.toString)
    assert(inSpark.forall(name => Seq("ClusterExecutors", "RpcChannel", "SparkMetrics").exists(name.contains)), inSpark)
  }
}

private object ArchitectureSpec {
  import ConnectorClasses.root

  /** Classes of aws that wait, and those that make them. */
  private val Waiting = Set(
    "BlockingCalls",
    "CallObserver",
    "CloudWatch",
    "ConsumerClaims",
    "ConsumerDirectory",
    "CredentialsCache",
    "DirectoryRetry",
    "FanOutConsumers",
    "KinesisClients",
    "KnownStreams",
    "Paging",
    "Registration",
    "RetryPolicy",
    "SharedPool",
    "StreamDirectory"
  )

  val areSimulated: DescribedPredicate[JavaClass] = predicate("are read, write or wait for calls") { c =>
    c.getPackageName.startsWith(s"$root.read") || c.getPackageName.startsWith(s"$root.write") ||
    (c.getPackageName == s"$root.aws" && Waiting(outermost(c)))
  }

  /** What Spark makes on a driver or an executor, what runs in a task of ours, and the one instance of each runtime. */
  private val MadeBySpark = Set(
    "DriverRuntime",
    "ExecutorRuntime",
    "KinesisClients",
    "KinesisPartitionReaderFactory",
    "KinesisScan",
    "KinesisTable",
    "KinesisWriterFactory",
    "OpenEnd",
    "RealTimeReaderFactory",
    "WriterRuntime"
  )

  val areMadeBySpark: DescribedPredicate[JavaClass] = predicate("are made by Spark")(c => MadeBySpark(outermost(c)))

  val makesOfJvm: DescribedPredicate[JavaAccess[_]] = predicate("is the JVM's own")(_.getName == "ofJvm")

  private val Classes = Set(
    "java.time.Clock",
    "java.util.Random",
    "java.util.Timer",
    "java.util.concurrent.CountDownLatch",
    "java.util.concurrent.Executors",
    "java.util.concurrent.ForkJoinPool",
    "java.util.concurrent.LinkedBlockingQueue",
    "java.util.concurrent.ScheduledThreadPoolExecutor",
    "java.util.concurrent.Semaphore",
    "java.util.concurrent.ThreadLocalRandom",
    "java.util.concurrent.ThreadPoolExecutor",
    "java.util.concurrent.locks.Condition",
    "java.util.concurrent.locks.LockSupport",
    "java.util.concurrent.locks.ReentrantLock",
    "scala.concurrent.Await$",
    "scala.concurrent.duration.Deadline",
    "scala.concurrent.duration.Deadline$",
    "scala.util.Random",
    "scala.util.Random$"
  )

  private val Methods = Set(
    "java.lang.System.currentTimeMillis",
    "java.lang.System.nanoTime",
    "java.lang.Thread.<init>",
    "java.lang.Thread.join",
    "java.lang.Thread.sleep",
    "java.lang.Thread.start",
    "java.time.Instant.now",
    "java.util.UUID.randomUUID",
    "java.util.concurrent.CompletableFuture.completeOnTimeout",
    "java.util.concurrent.CompletableFuture.delayedExecutor",
    "java.util.concurrent.CompletableFuture.get",
    "java.util.concurrent.CompletableFuture.join",
    "java.util.concurrent.CompletableFuture.orTimeout",
    "java.util.concurrent.CompletableFuture.runAsync",
    "java.util.concurrent.CompletableFuture.supplyAsync",
    "java.util.concurrent.Future.get",
    "org.apache.spark.SparkEnv$.get",
    "scala.concurrent.ExecutionContext$.global",
    "scala.concurrent.duration.DurationConversions.fromNow",
    "scala.concurrent.duration.FiniteDuration.fromNow"
  )

  /** Of every object. */
  private val Monitors = Set("notify", "notifyAll", "wait")

  /** The executor's id is Spark's, and asked for where the one ExecutorRuntime is made. The lock of a running query is Spark's: it is looked at only. */
  val isOfJvm: DescribedPredicate[JavaAccess[_]] = predicate("is time, waiting, threads or chance of the JVM") {
    access =>
      val owner  = access.getTargetOwner.getName
      val method = access.getName
      (Classes(owner) || Methods(s"$owner.$method") || Monitors(method)) &&
      !Exceptions(access.getOriginOwner.getName -> owner)
  }

  private val Exceptions = Set(
    s"$root.read.coordinator.ExecutorRuntime$$" -> "org.apache.spark.SparkEnv$",
    s"$root.read.stream.RunningQuery$$Callers"  -> "java.util.concurrent.locks.ReentrantLock"
  )

  private def outermost(c: JavaClass) = c.getName.split('.').last.takeWhile(_ != '$')

  private def predicate[A](what: String)(is: A => Boolean): DescribedPredicate[A] = new DescribedPredicate[A](what) {
    override def test(a: A): Boolean = is(a)
  }
}
