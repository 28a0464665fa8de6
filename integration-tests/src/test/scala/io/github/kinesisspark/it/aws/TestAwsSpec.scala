package io.github.kinesisspark.it.aws

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.kinesisspark.it.{RealisticServer, TestRun}
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule}

/** The programs of `make test-aws` and `make test-aws-clean` against the realistic server: over TLS with HTTP/2 by prior knowledge, at a name of
  * AWS's, and with signatures of keys from the default chain. AWS itself has not been tried yet.
  */
@Slow
class TestAwsSpec extends AnyFunSpec with Matchers with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(120, Seconds), Span(100, Millis))

  private lazy val realistic = RealisticServer.shared

  /** A program as make starts it, in a process of its own. */
  final private class Program(main: Class[_], variables: (String, String)*) extends AutoCloseable {
    private val output: Path = Files.createTempFile("test-aws-", ".log")

    val process: Process = {
      // This JVM's own options, but for its trust store: the program takes that from its variable.
      val options = java.lang.management.ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      val command = Seq(s"${sys.props("java.home")}/bin/java") ++ options ++
        Seq("-cp", sys.props("java.class.path"), main.getName.stripSuffix("$"))
      val builder = new ProcessBuilder(command.asJava).redirectErrorStream(true).redirectOutput(output.toFile)
      val named   = Map(
        "REGION"                    -> realistic.server.region,
        "ENDPOINT"                  -> realistic.awsLikeEndpoint.toString,
        "TRUST_STORE"               -> realistic.trustStore.toString,
        "AWS_ACCESS_KEY_ID"         -> realistic.accessKey.accessKeyId,
        "AWS_SECRET_ACCESS_KEY"     -> realistic.accessKey.secretAccessKey,
        "AWS_EC2_METADATA_DISABLED" -> "true"
      ) ++ variables
      named.foreach { case (name, value) => builder.environment.put(name, value) }
      builder.start()
    }

    def text: String = Files.readString(output)

    /** Waits for the program's end. */
    def exit(): Int = {
      if (!process.waitFor(20, TimeUnit.MINUTES)) fail(s"The program does not end:\n$text")
      process.exitValue
    }

    def children: Seq[ProcessHandle] = process.descendants().iterator.asScala.toSeq

    override def close(): Unit = {
      children.foreach(_.destroyForcibly())
      process.destroyForcibly(): Unit
    }
  }

  private def running[A](main: Class[_], variables: (String, String)*)(body: Program => A): A = {
    val program = new Program(main, variables: _*)
    // Read only if the body fails.
    val clue = new Object { override def toString: String = s"Output of the program:\n${program.text}\n" }
    try withClue(clue)(body(program))
    finally program.close()
  }

  private def testAws[A](variables: (String, String)*)(body: Program => A): A =
    running(TestAws.getClass, variables: _*)(body)

  private def calls(): Long = realistic.server.calls.counts.values.sum

  private def streamsOf(run: String): Seq[String] =
    realistic.server.streams.names.filter(_.startsWith(TestRun.prefixOf(run)))

  /** Runs `body` while the run's records are not taken, so that it stands still with its stream open. */
  private def whilePutsHang[A](body: => A): A = {
    realistic.server.faults.add(FaultRule(FaultEffect.Delay(1.hour), Some("PutRecords")))
    try body
    finally realistic.server.faults.clear()
  }

  describe("make test-aws") {
    it("refuses a plan that costs more than its budget before it calls the service") {
      val before = calls()
      testAws("SUITES" -> "smoke", "BUDGET" -> "3") { program =>
        program.exit() shouldBe TestAws.Exit.Refused
        program.text should (include("refused; BUDGET=20 allows it") and include("smoke"))
      }
      calls() shouldBe before
    }

    it("refuses to run without permission to list streams") {
      testAws("SUITES" -> "smoke", "AWS_SECRET_ACCESS_KEY" -> "wrong") { program =>
        program.exit() shouldBe TestAws.Exit.Refused
        program.text should (include("Nothing is created") and include("signature"))
      }
    }

    it("runs a suite by HTTP/2 over TLS with signed calls, and deletes its streams") {
      testAws("SUITES" -> "smoke", "RUN" -> "passes") { program =>
        program.exit() shouldBe TestAws.Exit.Passed
        program.text should (include("accepted") and include("No stream with 'kst-passes-' is left"))
      }
      streamsOf("passes") shouldBe empty
      realistic.server.calls.recent.filter(_.action == "SubscribeToShard").map(_.protocol).distinct shouldBe
        Seq("HTTP/2.0")
    }

    it("ends the run and deletes its streams when it has used its budget") {
      whilePutsHang {
        testAws("SUITES" -> "smoke", "RUN" -> "exceeds", "BUDGET" -> "20") { program =>
          eventually(streamsOf("exceeds") should have size 1)
          // More than the budget in a few seconds.
          realistic.server.streams.createStream("kst-exceeds-large", 500)
          program.exit() shouldBe TestAws.Exit.BudgetExceeded
          program.text should include("The budget is used up")
        }
      }
      streamsOf("exceeds") shouldBe empty
    }
  }

  describe("make test-aws-clean") {
    it("deletes what a run has left that was killed with kill -9, and nothing else") {
      realistic.server.streams.createStream("orders", 1)
      whilePutsHang {
        testAws("SUITES" -> "smoke", "RUN" -> "crashes") { program =>
          eventually(streamsOf("crashes") should have size 1)
          val suites = program.children
          suites should not be empty
          program.process.destroyForcibly().waitFor()
          suites.foreach(_.onExit().get(60, TimeUnit.SECONDS))
        }
      }
      streamsOf("crashes") should have size 1
      running(TestAwsClean.getClass, "PREFIX" -> "kst-crashes-") { program =>
        program.exit() shouldBe TestAws.Exit.Passed
        program.text should include("Deleting stream kst-crashes-s-1")
      }
      streamsOf("crashes") shouldBe empty
      realistic.server.streams.names should contain("orders")
    }

    it("fails with the service's refusal if the secret key is wrong") {
      running(TestAwsClean.getClass, "PREFIX" -> "kst-none-", "AWS_SECRET_ACCESS_KEY" -> "wrong") { program =>
        program.exit() shouldBe TestAws.Exit.NotCleanedUp
        program.text should include("signature")
      }
    }

    it("refuses a prefix that is not one of a test run's") {
      running(TestAwsClean.getClass, "PREFIX" -> "orders")(_.exit() shouldBe TestAws.Exit.Refused)
    }
  }

  describe("make test-aws SUITES=...") {
    RunPlan.known.filter(part => part.name != "smoke").foreach { part =>
      it(s"passes with the part ${part.name} and creates no more than is planned") {
        val run  = s"part-${part.name}"
        val most = mutable.Map.empty[String, Int]
        testAws("SUITES" -> part.name, "RUN" -> run) { program =>
          while (!program.process.waitFor(50, TimeUnit.MILLISECONDS))
            for (stream <- streamsOf(run)) {
              // Deleted meanwhile, it has none.
              val open = Try(realistic.server.streams.shards(stream).count(_.isOpen)).getOrElse(0)
              most(stream) = most.getOrElse(stream, 0).max(open)
            }
          program.process.exitValue shouldBe TestAws.Exit.Passed
        }
        info(s"${most.size} streams with ${most.values.sum} shards; planned are ${part.streams} and ${part.shards}")
        most.size should (be > 0 and be <= part.streams)
        most.values.sum should be <= part.shards
        streamsOf(run) shouldBe empty
      }
    }
  }
}
