package io.github.kinesisspark.it

import java.nio.file.{Files, Path}

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
      val whose = targets.map(target => if (target.differences(difference)) "yes" else "")
      s"| `${difference.id}` | ${whose.mkString(" | ")} | ${difference.what} | ${difference.why} |"
    }
    s"""# Servers that the tests run against
       |
       |Written by `KINESIS_SPARK_WRITE_DOCS=1 ./sbt "integrationTests/testOnly *ServersDocumentSpec"`; edit `Differences.scala`, not this.
       |
       |One suite, `ConformanceSpec`, makes real calls with AWS SDK v2 and holds every server to what the service does. The
       |environment variable `KINESIS_TARGETS` chooses from ${targets.map(t => s"`${t.name}`").mkString(", ")}
       |(default `${KinesisTarget.Default}`). A target that is asked for and cannot start fails the run. `aws` also needs
       |`KINESIS_SPARK_AWS_TESTS=1`, `AWS_REGION` and credentials, makes streams there and deletes them.
       |
       |`kinesis-local` is kinesis-mock from npm. `localstack` answers SubscribeToShard itself and hands all else to an older
       |kinesis-mock. Neither needs Docker: `integration-tests/servers/servers.py --help`. With Docker, `docker-compose.yml` has both.
       |
       |What each does otherwise than the service. A scenario of the suite asserts each, and fails when it is no longer so;
       |what shows only now and then ("can") cannot be asserted and is reported as canceled, with its id:
       |
       |""".stripMargin + (head +: rule +: rows).mkString("", "\n", "\n") +
      """
        |Iterator and token expiry, retention and trimming take a clock that a test can move: only `testkit` has one,
        |elsewhere these scenarios are reported as canceled.
        |""".stripMargin
  }
}
