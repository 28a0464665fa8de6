package io.github.kinesisspark.it.faults

import java.net.InetAddress
import java.nio.file.{Files, Path}

import org.scalatest.Suites
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.{FaultRule, KinesisServerConfig, Occurrence, ResetPoint}
import io.github.kinesisspark.testkit.FaultEffect._

/** The way to the service is wrong, or breaks while a query runs: each error as a user sees it. Options are the defaults. */
@Slow
final class EndpointFaults(override protected val mode: Mode)
    extends TestkitSuite(KinesisServerConfig(tlsPort = Some(0))) {
  override def suiteName: String = s"Endpoint faults by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private def failureAt(endpoint: String): String = {
    val stream = newStream(shards = 1)
    val query  = start(stream, checkpoint(), new BatchLog, "endpoint" -> endpoint)
    failureOf(query).getMessage
  }

  describe("a query fails with an error that names what to check when") {
    it("the endpoint's certificate is not trusted") {
      val tls     = kinesis.tlsEndpoint.get
      val message = failureAt(tls.toString)
      message should (include("KINESIS_TLS_FAILED") and include("certificate") and include(tls.toString))
      message should include("DescribeStreamSummary")
      // The second where this JVM trusts another self-signed certificate of the same name.
      message should (include("unable to find valid certification path") or include("Signature does not match"))
    }

    it("the endpoint does not speak TLS") {
      val plain   = s"https://127.0.0.1:${kinesis.endpoint.getPort}"
      val message = failureAt(plain)
      message should (include("KINESIS_TLS_FAILED") and include("scheme and port") and include(plain))
    }

    it("the endpoint's host is unknown") {
      // RFC 6761: names under .invalid never resolve.
      val message = failureAt("http://kinesis.invalid:4567")
      message should (include("KINESIS_UNKNOWN_HOST") and include("kinesis.invalid") and include(
        "region, endpoint and DNS"
      ))
    }

    it("the machine's clock differs from the service's, whatever the clock of the request") {
      val stream = newStream(shards = 1)
      val skewed =
        ServiceCode("InvalidSignatureException", "Signature expired: 20260101T000000Z is now earlier than ...")
      underFault(FaultRule(skewed, Some(mode.readCall), Some(stream.name))) {
        // Nobody waits here for the default of 15 minutes.
        val query   = start(stream, checkpoint(), new BatchLog, "maxRetryDuration" -> "10s")
        val message = failureOf(query).getMessage
        message should (include("KINESIS_CLOCK_SKEW") and include("clock") and include("NTP"))
        message should (include(mode.readCall) and include(stream.onlyShard().shardId))
      }
    }
  }

  describe("every record is delivered once and in order when") {
    it("the service's clock jumps ahead by an hour and it refuses the next signature") {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      val skewed = ServiceCode(
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
        403
      )
      running(load(stream), checkpoint())(log.add) { query =>
        val first = put(stream, "first", 50)
        eventually(log.texts.sorted shouldBe first.sorted)
        underFault(FaultRule(skewed, Some(mode.readCall), Some(stream.name), occurrence = Occurrence.First(2))) {
          serverClock.advance(java.time.Duration.ofHours(1))
          // A subscription is over by then; an iterator has expired.
          eventually(kinesis.faults.hits shouldBe 2L)
          val second = put(stream, "second", 50)
          eventually(log.texts.sorted shouldBe (first ++ second).sorted)
        }
        query.exception shouldBe empty
      }
      inOrder(log)
    }

    it("HTTP 500, HTTP 503 and resets of the connection come in turns") {
      val stream = newStream(shards = 2)
      val log    = new BatchLog
      val rules  = Seq(HttpStatus(500), HttpStatus(503), Reset(ResetPoint.BeforeCall)).zipWithIndex.map {
        case (effect, n) =>
          FaultRule(effect, Some(mode.readCall), Some(stream.name), occurrence = Occurrence.Every(3 + n))
      }
      underFault(rules: _*) {
        val first = put(stream, "first", 200)
        running(load(stream), checkpoint())(log.add) { query =>
          eventually(log.texts.sorted shouldBe first.sorted)
          var all = first
          eventually(interval(Span(1, Seconds))) {
            all = all ++ put(stream, s"more-${all.size}", 20)
            // Subscriptions live for five minutes of this clock.
            serverClock.advance(java.time.Duration.ofMinutes(6))
            kinesis.faults.list.map(_.struck).min should be >= 1L
          }
          eventually(log.texts.sorted shouldBe all.sorted)
          query.exception shouldBe empty
        }
      }
      inOrder(log)
    }
  }
}

class EndpointFaultsSpec extends Suites(Mode.both.map(new EndpointFaults(_)): _*)

/** DNS as a machine has it, for one query: a JVM of its own that resolves names by a hosts file. It asks again for a name that
  * it has found, and remembers for 10 s that a name is unknown, as Java does by default.
  */
@Slow
final class DnsFaultsSpec extends TestkitSuite {

  for (mode <- Mode.both)
    describe(s"a running query by $mode whose endpoint's name is not found any more") {
      it("reads on when the name is found again after seconds, and fails with what to check when it stays unknown") {
        val stream = newStream(shards = 1)
        val hosts  = Files.createTempFile("hosts-", "")
        known(hosts)
        val query = start(stream, mode, hosts)
        try {
          put(stream, "first", 50)
          eventually(query.look().rows shouldBe 50)
          loseName(stream, mode, hosts)
          eventually(query.logged should include("UnknownHostException"))
          known(hosts)
          kinesis.faults.clear()
          val rows = query.look().rows
          put(stream, "second", 50)
          eventually {
            val now = query.look()
            (now.rows >= rows + 50 || now.failure.isDefined) shouldBe true
          }
          query.look().failure shouldBe empty
          loseName(stream, mode, hosts)
          val failure = eventually(query.look().failure.getOrElse(fail("the query runs")))
          failure should (include("KINESIS_UNKNOWN_HOST") and include(Name) and include("region, endpoint and DNS"))
        } finally {
          kinesis.faults.clear()
          query.close()
          Files.delete(hosts)
        }
      }
    }

  private def start(stream: TestStream, mode: Mode, hosts: Path): ForkedQuery = ForkedQuery.start(
    options(stream) ++ mode.options ++ Map(
      "endpoint"         -> s"http://$Name:${kinesis.endpoint.getPort}",
      "startingPosition" -> "TRIM_HORIZON",
      // Longer than Java remembers an unknown name; nobody waits here for the default of 15 minutes.
      "maxRetryDuration" -> "30s"
    ),
    jvm = Seq(s"-Djdk.net.hosts.file=$hosts", "-Dsun.net.inetaddr.ttl=0")
  )

  /** Breaks the query's connections while the name can't be found. */
  private def loseName(stream: TestStream, mode: Mode, hosts: Path): Unit = {
    unknown(hosts)
    val before = kinesis.faults.hits
    kinesis.faults.add(mode match {
      case Mode.Polling => FaultRule(Reset(ResetPoint.BeforeCall), Some("GetRecords"), Some(stream.name))
      case Mode.FanOut  => FaultRule(ResetConnection, stream = Some(stream.name))
    })
    put(stream, "reset", 1)
    eventually(kinesis.faults.hits should be > before)
  }

  private val Name = "kinesis.test"

  /** Which Spark looks up. */
  private val ThisMachine = InetAddress.getLocalHost.getHostName

  private def known(hosts: Path): Unit   = write(hosts, s"localhost $ThisMachine $Name")
  private def unknown(hosts: Path): Unit = write(hosts, s"localhost $ThisMachine")

  private def write(hosts: Path, names: String): Unit = Files.writeString(hosts, s"127.0.0.1 $names\n"): Unit
}
