package io.github.kinesisspark.it.faults

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.concurrent.duration._

import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.sink.Written
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, KinesisServerConfig}

/** Nothing works for a while, at the default options: queries live, say what they wait for, and continue at once when it is over.
  *
  * All queries meet an outage of one length at the same time, each of another kind, so that 10 minutes are waited for once.
  */
final class OutageSpec extends TestkitSuite(KinesisServerConfig(tlsPort = Some(0))) with CapturedLogs {
  import OutageSpec._

  override protected def master: String = "local[4,4]"

  private lazy val trust = Trust.in(kinesis)

  override protected def afterAll(): Unit = {
    super.afterAll()
    trust.close()
  }

  /** One query and the outage between it and its stream. */
  private final class Subject(val outage: Outage, val role: Role) {
    val stream: TestStream = newStream(shards = 2)
    val dir: Path          = Files.createTempDirectory("outage-")

    @volatile private var query = Option.empty[StreamingQuery]

    def start(): Unit =
      query = Some(
        role.start(spark, NamedHostQueries.optionsOf(stream.name, outage.endpoint, service.region.id), dir)
      )
    def stop(): Unit = query.foreach(_.stop())

    /** Of a query of another process as well. */
    def failure: Option[String] = query
      .flatMap(_.exception)
      .map(_.getMessage)
      .orElse(Option.when(Files.exists(dir.resolve("failed")))(Files.readString(dir.resolve("failed"))))

    def offer(prefix: String): Unit = role match {
      case Role.Sink => Role.offer(dir, texts(prefix))
      case _         => texts(prefix).foreach(t => kinesis.streams.put(stream.name, t, t))
    }

    def has(prefix: String): Boolean = texts(prefix).forall(arrived)

    def hasAny(prefix: String): Boolean = texts(prefix).exists(arrived)

    private def arrived: Set[String] = role match {
      case Role.Sink => Written.texts(stream).toSet
      case _         => Role.written(dir)
    }

    private def texts(prefix: String) = (0 until 20).map(i => s"$prefix-$i")
  }

  private def outage(time: FiniteDuration): Map[Case, Outcome] = {
    trust: Unit
    val missingName               = new Outage.MissingName(kinesis)
    lazy val outages: Seq[Outage] =
      Seq(
        new Outage.ServerErrors(kinesis, failing),
        new Outage.Refusals(kinesis),
        new Outage.FailingTls(kinesis),
        missingName
      )
    lazy val all           = for (outage <- outages; role <- Role.all) yield new Subject(outage, role)
    lazy val (there, here) = all.partition(_.outage == missingName)
    lazy val failing       = here.filter(_.outage == outages.head).map(_.stream.name)
    val log                = Files.createTempFile("named-host-", ".log")
    all.foreach(_.offer("before"))
    val process = NamedHostQueries.start(
      missingName.hosts,
      log,
      Seq(missingName.endpoint, service.region.id) ++ there.flatMap(s => Seq(s.stream.name, s.dir.toString))
    )
    val ((spared, late), logs) =
      try
        withLogs {
          here.foreach(_.start())
          eventually(all.filterNot(_.has("before")).map(s => Case(s.outage.name, s.role.name)) shouldBe empty)
          outages.foreach(_.takeAway())
          all.foreach(_.offer("meanwhile"))
          TimeUnit.MILLISECONDS.sleep(time.toMillis)
          val spared = all.filter(_.hasAny("meanwhile")).toSet
          outages.foreach(_.giveBack())
          (spared, awaitRecovery(all))
        }
      finally {
        here.foreach(_.stop())
        process.destroy()
        process.waitFor(30, TimeUnit.SECONDS): Unit
        outages.foreach(_.close())
      }
    val said = logs + Files.readString(log)
    all.map { s =>
      val warned = said.linesIterator.exists(line => line.contains("WARN") && line.contains(s.stream.name))
      Case(s.outage.name, s.role.name) -> Outcome(s.failure, late(s), warned, spared(s))
    }.toMap
  }

  /** Those that have not caught up in time. */
  private def awaitRecovery(all: Seq[Subject]): Set[Subject] = {
    val deadline = WithinSeconds.fromNow
    var late     = all.toSet
    while (late.exists(_.failure.isEmpty) && deadline.hasTimeLeft()) {
      late = late.filterNot(_.has("meanwhile"))
      TimeUnit.MILLISECONDS.sleep(100)
    }
    late
  }

  private def survives(outcome: Outcome): Unit = {
    withClue("records came during the outage, so nothing was tested: ")(outcome.wasSpared shouldBe false)
    withClue("the query failed: ")(outcome.failure shouldBe None)
    withClue(s"not all records had come $WithinSeconds after the end: ")(outcome.isLate shouldBe false)
  }

  describe("after 5 seconds of") {
    lazy val outcomes = outage(5.seconds)
    for (outage <- Outages; role <- Role.all.map(_.name))
      it(s"$outage, the $role is alive and continues within seconds", Slow)(survives(outcomes(Case(outage, role))))
  }

  for ((time, span) <- Seq(1.minute -> "1 minute", 10.minutes -> "10 minutes")) {
    lazy val outcomes = outage(time)
    describe(s"after $span of") {
      for (outage <- Outages; role <- Role.all.map(_.name))
        it(s"$outage, the $role is alive, has warned, and continues within seconds", Slow) {
          val outcome = outcomes(Case(outage, role))
          survives(outcome)
          withClue("nothing was logged at WARN that names the stream: ")(outcome.warned shouldBe true)
        }
    }
  }

  describe("during an outage") {
    def lagGrows(mode: Mode): Unit = {
      val stream = newStream(shards = 1)
      val log    = new BatchLog
      put(stream, "before", 10)
      running(load(stream, mode.options.toSeq: _*), checkpoint())(log.add) { query =>
        eventually(log.rows.size shouldBe 10)
        val refused = FaultRule(FaultEffect.HttpStatus(500), stream = Some(stream.name))
        // A subscription that is open would outlive the outage.
        val ended = FaultRule(FaultEffect.ResetStream, stream = Some(stream.name))
        underFault(refused +: Option.when(mode == Mode.FanOut)(ended).toSeq: _*) {
          kinesis.streams.put(stream.name, "key", "meanwhile")
          eventually(timeout(Span(180, Seconds))) {
            query.exception shouldBe None
            metric(query, "maxMillisBehindLatest") should be >= 10000L
          }
        }
      }
    }

    it("the lag metrics of a polling source grow")(lagGrows(Mode.Polling))
    it("the lag metrics of a fan-out source grow")(lagGrows(Mode.FanOut))
  }
}

object OutageSpec {

  /** Of the longest pause between two attempts, and a batch, on a machine that does much else. */
  private val WithinSeconds = 40.seconds

  private final case class Case(outage: String, role: String)

  /** @param wasSpared the outage did nothing: a record passed meanwhile */
  private final case class Outcome(failure: Option[String], isLate: Boolean, warned: Boolean, wasSpared: Boolean)

  private val Outages = Seq("HTTP 500", "refused connections", "failed TLS handshakes", "a host name that is not found")
}
