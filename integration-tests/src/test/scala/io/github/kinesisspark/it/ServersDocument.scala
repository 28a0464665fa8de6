package io.github.kinesisspark.it

import java.nio.file.{Files, Path}

import io.github.kinesisspark.it.aws.RunPlan

/** `integration-tests/SERVERS.md`, written from [[KinesisTarget]] and [[Differences]] so that it cannot say anything else. */
object ServersDocument {
  def file: Path = LocalServer.projectRoot.resolve("integration-tests/SERVERS.md")

  def write(): Unit = {
    Files.writeString(file, text)
    ()
  }

  def text: String = {
    val targets = KinesisTarget.all
    val head    = s"| difference | ${targets.map(_.name).mkString(" | ")} | what it does | what that means |"
    val rule    = s"|---|${"---|" * targets.size}---|---|"
    val rows    = Differences.all.map { difference =>
      val whose = targets.map(target => cell(target.differences, difference))
      s"| `${difference.id}` | ${whose.mkString(" | ")} | ${difference.what} | ${difference.why} |"
    }
    val everything  = names(targets)
    val conformance = names(Targets.DefaultForConformance)
    val scenarios   = names(Targets.DefaultForScenarios)
    s"""# Servers that the tests run against
       |
       |Written by `KINESIS_SPARK_WRITE_DOCS=1 ./sbt "integrationTests/testOnly *ServersDocumentSpec"`; edit `Differences.scala`, not this.
       |
       |One suite, `ConformanceSpec`, makes real calls with AWS SDK v2 and holds every server to what the service does. The
       |environment variable `KINESIS_TARGETS` chooses from $everything, as a comma list;
       |`all` means all but `aws` that can run on the machine. By default conformance runs on $conformance, and the
       |scenarios of source and sink on $scenarios. A target that is named and cannot
       |start fails the run. `TargetReportSpec` reports each target that is left out as canceled, with the reason.
       |
       |`realistic-alpn` and `realistic-tls` are the embedded server in its realistic profile over TLS, with verified
       |certificates and signed calls. Clients agree on HTTP/2 by ALPN on the first, and use it by prior knowledge on the second, under a
       |name of AWS's that leads to this machine, as they do at AWS.
       |
       |**`aws` has not been run yet.** The service's promises are those of the API reference and what others have
       |[recorded on it](#recorded-on-aws); its column below names them, and is unknown elsewhere. `make test-aws REGION=eu-west-1` runs conformance, reading, batch and sink there over TLS, by polling
       |and by fan-out. It takes credentials from the SDK's default chain, prints its plan in shards x minutes and consumers x shards x
       |minutes, refuses above `BUDGET` (default ${RunPlan.DefaultBudget.minutes} of both together), ends when that is used up, and deletes its
       |streams. `SUITES=smoke` is the cheapest run. `make test-aws-clean REGION=... PREFIX=kst-...` deletes what a crash
       |leaves. `TestAwsSpec` proves both programs on the realistic server, a `kill -9` included.
       |
       |`kinesis-local` is kinesis-mock from npm. `localstack` answers SubscribeToShard itself and hands all else to an older
       |kinesis-mock. Neither needs Docker: `integration-tests/servers/servers.py --help`. With Docker, `docker-compose.yml` has both.
       |
       |What each does otherwise than the service. A scenario of the suite asserts each, and fails when it is no longer so;
       |what shows only now and then ("can") cannot be asserted and is reported as canceled, with its id. "?" means unknown:
       |
       |""".stripMargin + (head +: rule +: rows).mkString("", "\n", "\n") +
      """
        |Iterator and token expiry, retention and trimming take a clock that a test can move: only `testkit` has one,
        |elsewhere these scenarios are reported as canceled.
        |""".stripMargin + recorded
  }

  private def recorded: String = {
    val facts   = Recordings.all.map(r => s"| ${r.call} | ${r.fact} | ${r.on} |")
    val leftOut = Recordings.leftOut.map { case (what, why) => s"| $what | $why |" }
    s"""
       |## Recorded on AWS
       |
       |${Recordings.By} runs [its tests of Kinesis](${Recordings.Source}) on AWS as well, and
       |publishes the service's answers with the days on which they were recorded. A scenario asserts each of these facts:
       |
       || call | what the service does | recorded on |
       ||---|---|---|
       |""".stripMargin + facts.mkString("", "\n", "\n") +
      """
        |What is recorded there too, and is not asserted:
        |
        || what | why not |
        ||---|---|
        |""".stripMargin + leftOut.mkString("", "\n", "\n")
  }

  private def names(targets: Seq[KinesisTarget]): String = targets.map(target => s"`$target`").mkString(", ")

  private def cell(known: KnownDifferences, difference: Difference): String = known match {
    case KnownDifferences.Measured(all)      => if (all(difference)) "yes" else ""
    case KnownDifferences.NotRunYet(refuted) => refuted.get(difference).fold("?")(r => s"no: ${Recordings.By}, ${r.on}")
  }
}
