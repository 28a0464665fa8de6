package io.github.kinesisspark

import java.nio.file.Files

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import com.tngtech.archunit.base.DescribedPredicate
import com.tngtech.archunit.core.domain.{JavaAccess, JavaClass, JavaCodeUnit}
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import org.scalatest.funspec.AnyFunSpec

/** Checks which packages of the connector may depend on which, and who has time, threads and chance from the JVM. */
class ArchitectureSpec extends AnyFunSpec {
  import ArchitectureSpec._
  import ConnectorClasses.{all, root}

  private def rule(packages: String*)(forbidden: String*): Unit =
    noClasses.that
      .resideInAnyPackage(packages: _*)
      .should
      .dependOnClassesThat
      .resideInAnyPackage(forbidden: _*)
      .check(all)

  private def packageOf(c: JavaClass) = c.getBaseComponentType.getPackageName

  private def named(name: String) = name.stripPrefix(s"$root.").stripPrefix("io.github.")

  /** The packages of the connector that each of them uses, by the compiled classes. */
  private def used: Map[String, Set[String]] = {
    val targets = all.iterator.asScala.toVector
      .groupMap(packageOf)(_.getDirectDependenciesFromSelf.asScala.map(d => packageOf(d.getTargetClass)))
    targets.map { case (name, of) => named(name) -> (of.flatten.filter(targets.contains).toSet - name).map(named) }
  }

  /** The same, by the table of packages in docs/contributing/architecture.md. */
  private def listed: Map[String, Set[String]] = {
    val page              = Files.readString(PagePart.docs.resolve("contributing/architecture.md"))
    def names(in: String) = "`([^`]+)`".r.findAllMatchIn(in).map(_.group(1))
    "(?m)^\\| (`[a-z.]+`) \\|[^|]+\\|([^|]+)\\|$".r
      .findAllMatchIn(page.split("## Packages").last.split("\n## ").head)
      .map(row => names(row.group(1)).next() -> names(row.group(2)).toSet)
      .toMap
  }

  /** The steps of the page's days: a method, and the one that it calls. */
  private def days: Vector[(Calls.Method, Calls.Method)] = {
    val page  = Files.readString(PagePart.docs.resolve("contributing/architecture.md"))
    val chain = "`\\w+\\.\\w+`(?: → `\\w+\\.\\w+`)+".r
    for {
      steps <- chain.findAllIn(page.split("## Three days in the life").last.split("\n## ").head).toVector
      named = steps.split(" → ").toVector.map(_.replace("`", "").split('.')).map(n => Calls.Method(n(0), n(1)))
      step <- named.zip(named.tail)
    } yield step
  }

  describe("the packages") {
    it("form no cycle") {
      slices.matching("(**)").should.beFreeOfCycles.check(all)
    }

    it("use those that their rows in the table of packages name, and no others") {
      val (page, code) = (listed, used)
      assert(page.keySet == code.keySet)
      val wrong = code.collect {
        case (name, targets) if targets != page(name) =>
          s"$name uses ${targets.toVector.sorted.mkString(", ")}"
      }
      assert(wrong.isEmpty)
    }

    it("that decide, and config, use neither the AWS SDK nor Spark") {
      rule(Seq("position", "aggregation", "config", "read.plan", "write.send").map(name => s"$root.$name.."): _*)(
        "software.amazon..",
        "org.apache.spark.."
      )
    }

    it("use of aws only what a failure is, if they plan") {
      val failures = Set("FailureReason", "KinesisException")
      noClasses.that
        .resideInAPackage(s"$root.read.plan..")
        .should
        .dependOnClassesThat(
          predicate("are of aws, and no failure")(c => packageOf(c) == s"$root.aws" && !failures(outermost(c)))
        )
        .check(all)
    }
  }

  describe("the page's days in the life") {
    it("name methods that exist, each of which calls the next") {
      val steps = days
      assert(steps.size > 30)
      val wrong = steps.flatMap { case (from, to) =>
        val missing = Vector(from, to).filter(Calls.units(_).isEmpty).map(m => s"no $m")
        if (missing.nonEmpty) missing else Vector(s"$from doesn't call $to").filterNot(_ => Calls.exists(from, to))
      }
      assert(wrong.isEmpty)
    }
  }

  describe("time, waiting, threads, chance and identity") {
    it("come from package runtime alone in read, write and aws, with named exceptions") {
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

  describe("what Spark hides") {
    it("is used by the five classes of org.apache.spark.kinesisspark") {
      val room = all.iterator.asScala.filter(_.getPackageName.startsWith("org.apache.spark")).map(outermost).toSet
      assert(room == Set("ClusterExecutors", "RpcChannel", "RunningQuery", "SparkMetrics", "UpdatesAsAppends"))
    }

    it("is used by no other class") {
      val hidden =
        Seq("metrics", "rpc", "scheduler", "sql.catalyst.plans", "sql.execution", "sql.internal", "storage", "util")
      rule(s"$root..")(hidden.map(name => s"org.apache.spark.$name.."): _*)
    }
  }
}

private object ArchitectureSpec {
  import ConnectorClasses.root

  val areSimulated: DescribedPredicate[JavaClass] = predicate("are of read, write or aws")(c =>
    Seq("read", "write", "aws").exists(of => s"${c.getPackageName}.".startsWith(s"$root.$of."))
  )

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

  val isOfJvm: DescribedPredicate[JavaAccess[_]] = predicate("is time, waiting, threads or chance of the JVM") {
    access =>
      val owner  = access.getTargetOwner.getName
      val method = access.getName
      (Classes(owner) || Methods(s"$owner.$method") || Monitors(method)) &&
      !Exceptions(access.getOriginOwner.getName -> owner)
  }

  /** Who uses what of the JVM. */
  private val Exceptions = Set(
    // Spark knows the executor's id and the configuration, and keeps both in SparkEnv. Neither is time.
    s"$root.read.coordinator.ExecutorRuntime$$" -> "org.apache.spark.SparkEnv$",
    s"$root.aws.HadoopSettings$$"               -> "org.apache.spark.SparkEnv$",
    // When a login or a key ends is a date, which is compared with the machine's date. Tests pass another clock.
    s"$root.aws.Login$$"              -> "java.time.Instant",
    s"$root.aws.LoginCredentials$$"   -> "java.time.Instant",
    s"$root.aws.RenewedCredentials$$" -> "java.time.Instant",
    s"$root.aws.RenewedCredentials$$" -> "java.lang.System",
    // The signer asks a clock, which stands at the runtime's time.
    s"$root.aws.CloudWatch" -> "java.time.Clock",
    // Calls for credentials: the SDK retries them by itself, and threads of credentials wait for them.
    s"$root.aws.ServiceClient$$" -> "java.util.concurrent.ThreadLocalRandom",
    s"$root.aws.ServiceClient$$" -> "java.util.concurrent.CompletableFuture"
  )

  def outermost(c: JavaClass): String = c.getName.split('.').last.takeWhile(_ != '$')

  def predicate[A](what: String)(is: A => Boolean): DescribedPredicate[A] = new DescribedPredicate[A](what) {
    override def test(a: A): Boolean = is(a)
  }
}

/** Which method of the connector calls which, by its compiled classes: also in functions and local methods within it, and by an interface. */
private object Calls {
  final case class Method(owner: String, name: String) {
    override def toString: String = s"$owner.$name"
  }

  def units(method: Method): Vector[JavaCodeUnit] =
    byClass.getOrElse(method.owner, Vector.empty).flatMap(_.getCodeUnits.asScala).filter(nameOf(_) == method.name)

  def exists(from: Method, to: Method): Boolean = {
    val owners = units(to).map(_.getOwner)
    within(units(from)).exists(
      _.getMethodCallsFromSelf.asScala.exists { call =>
        val owner = call.getTargetOwner
        call.getName.split("\\$\\$").last == to.name &&
        owners.exists(o => o.isAssignableTo(owner.getName) || owner.isAssignableTo(o.getName))
      }
    )
  }

  /** By the last part of their names; an object's is its class's. */
  private lazy val byClass = ConnectorClasses.all.iterator.asScala.toVector.groupBy(_.getName.split("[.$]").last)

  /** A method's functions are compiled to `$anonfun$method$1`, its local methods to `local$1`. */
  @tailrec private def within(units: Vector[JavaCodeUnit]): Vector[JavaCodeUnit] = {
    val local = units
      .flatMap(_.getMethodCallsFromSelf.asScala)
      .filter(call => call.getName.matches("\\w+\\$\\d+"))
      .flatMap(_.getTarget.resolveMember.toScala)
    val names     = units.map(unit => nameOf(unit).takeWhile(_ != '$')).toSet
    val functions = units.flatMap(_.getOwner.getCodeUnits.asScala).filter { unit =>
      unit.getName.startsWith("$anonfun$") && names(unit.getName.stripPrefix("$anonfun$").takeWhile(_ != '$'))
    }
    val more = (units ++ local ++ functions).distinct
    if (more.size == units.size) units else within(more)
  }

  /** What is private to a class has the class before its name, if an inner class uses it. */
  private def nameOf(unit: JavaCodeUnit) = unit.getName.split("\\$\\$").last
}
