package io.github.kinesisspark.it.source

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.concurrent.duration._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.Suites

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.FaultEffect._
import io.github.kinesisspark.it.source.SeveralStreams.Place

/** Reads several streams in one query, by polling and by fan-out. Two embedded servers stand for two regions and
  * accounts.
  */
final class SeveralStreams(override protected val mode: Mode)
    extends TestkitSuite(KinesisServerConfig(region = "us-east-1", accountId = "111111111111"))
    with CapturedLogs {
  override def suiteName: String = s"Several streams by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  private lazy val far = KinesisServer.start(KinesisServerConfig(region = "eu-west-1", accountId = "222222222222"))

  override protected def afterAll(): Unit = {
    super.afterAll()
    far.close()
  }

  private def unique(): String = s"s-${UUID.randomUUID().toString.take(13)}"

  private def near(name: String = unique(), shards: Int = 2): Place = made(Place(name, kinesis, "111111111111"), shards)
  private def afar(name: String = unique(), shards: Int = 2): Place = made(Place(name, far, "222222222222"), shards)

  private def made(place: Place, shards: Int): Place = {
    place.server.streams.createStream(place.name, shards)
    place
  }

  private val common = Map(
    "accessKeyId"      -> "test",
    "secretAccessKey"  -> "test",
    "startingPosition" -> "TRIM_HORIZON"
  ) ++ mode.options

  /** By name, each stream with its own region and endpoint. */
  private def reading(streams: Place*)(more: (String, String)*): DataFrame =
    loaded(common + ("streamName" -> streams.map(_.name).mkString(",")) ++ streams.flatMap(_.whereabouts) ++ more)

  private def loaded(options: Map[String, String]): DataFrame =
    spark.readStream.format("kinesis").options(options).load()

  private def started(frame: DataFrame, at: Path = checkpoint()): StreamingQuery =
    frame.writeStream.format("noop").option("checkpointLocation", at.toString).start()

  private def once(log: BatchLog, expected: Seq[String]): Unit =
    eventually(log.texts.sorted shouldBe expected.sorted): Unit

  /** The records of both streams, each stream's in a batch of its own, the other's last, and all committed. */
  private def inTurn(here: Place, there: Place, at: Path, log: BatchLog): Seq[String] =
    running(reading(here, there)(), at)(log.add) { _ =>
      val own = here.put("a", 30)
      once(log, own)
      val both = own ++ there.put("b", 30)
      once(log, both)
      awaitCommit(at, log)
      both
    }

  private def lastOffset(checkpoint: Path): String = {
    val offsets = checkpoint.resolve("offsets")
    val newest  = logEntries(offsets, 0).map(_.getFileName.toString).flatMap(_.toLongOption).max
    Files.readString(offsets.resolve(newest.toString))
  }

  describe("several streams") {
    it("of two regions and accounts are read together, each from its own position") {
      val (here, there) = (near(), afar())
      val before        = here.put("before", 50)
      there.put("unwanted", 50)
      val log = new BatchLog
      running(
        reading(here, there)(there.own("startingPosition", s"AT_TIMESTAMP:${far.clock.millis + 1}")),
        checkpoint()
      )(log.add) { _ =>
        once(log, before)
        val more = here.put("here", 50) ++ there.put("there", 50)
        once(log, before ++ more)
      }
      log.rows.groupMap(_.stream)(_.text.takeWhile(_ != '-')).view.mapValues(_.toSet).toMap shouldBe
        Map(here.name -> Set("before", "here"), there.name -> Set("there"))
    }

    it("can share a name if they are given by ARN") {
      val name                                             = unique()
      val (here, there)                                    = (near(name), afar(name))
      val expected                                         = here.put("here", 40) ++ there.put("there", 40)
      def own(place: Place, option: String, value: String) = s"stream.${place.arn}.$option" -> value
      val options                                          = common + ("streamArn" -> s"${here.arn},${there.arn}") +
        own(here, "endpoint", kinesis.endpoint.toString) + own(there, "endpoint", far.endpoint.toString)
      val at  = checkpoint()
      val log = new BatchLog
      running(loaded(options), at)(log.add) { _ =>
        once(log, expected)
        // The log couldn't distinguish one stream's rows from the other's in a batch that came again.
        awaitCommit(at, log)
      }
      // And each continues from its own place.
      val more = here.put("later", 10)
      running(loaded(options), at)(log.add)(_ => once(log, expected ++ more))
    }

    it("can each have child shards of the same IDs") {
      val (here, there) = (near(shards = 1), afar(shards = 1))
      val log           = new BatchLog
      val first         = here.put("a", 20) ++ there.put("b", 20)
      running(reading(here, there)(), checkpoint())(log.add) { _ =>
        once(log, first)
        there.server.streams.split(there.name, "shardId-000000000000")
        val second = here.put("c", 20) ++ there.put("d", 20)
        once(log, first ++ second)
      }
      log.rows.filter(_.stream == here.name).map(_.shardId).distinct should have size 1
      log.rows.filter(_.stream == there.name).map(_.shardId).distinct should have size 3
    }
  }

  describe("a failing stream among several") {
    it("does not delay the others, and is read after it recovers") {
      // Listed often, because the fourth listing is the first one that fails.
      val often         = "shardDiscoveryInterval" -> "200ms"
      val (here, there) = (near(), afar())
      val log           = new BatchLog
      val own           = here.put("here", 50)
      val theirs        = there.put("there", 50)
      for (effect <- Seq(ServiceCode("InternalFailure", status = 500), HttpStatus(503)))
        far.faults.add(FaultRule(effect, Some(mode.readCall), Some(there.name)))
      far.faults.add(
        FaultRule(
          ServiceCode("LimitExceededException"),
          Some("ListShards"),
          Some(there.name),
          occurrence = Occurrence.After(3)
        )
      )
      try
        running(reading(here, there)(often), checkpoint())(log.add) { _ =>
          once(log, own)
          // The healthy stream finds its own children meanwhile.
          here.server.streams.split(here.name, "shardId-000000000000")
          val more = here.put("more", 50)
          once(log, own ++ more)
          far.faults.list.map(_.struck).sum should be > 2L
          far.faults.clear()
          once(log, own ++ more ++ theirs)
        }
      finally far.faults.clear()
    }

    it("that is slow loses and repeats no record of any stream") {
      val (here, there) = (near(), afar())
      val log           = new BatchLog
      far.faults.add(FaultRule(Delay(3.seconds), Some(mode.readCall), Some(there.name)))
      try
        running(reading(here, there)(), checkpoint())(log.add) { _ =>
          val own    = here.put("here", 50)
          val theirs = there.put("there", 50)
          once(log, own ++ theirs)
        }
      finally far.faults.clear()
      log.texts.distinct should have size 100
    }

    it("that is denied fails the query with its ARN") {
      val (here, there) = (near(), afar())
      val denied        = ServiceCode("AccessDeniedException", "not authorized")
      far.faults.add(FaultRule(denied, Some(mode.readCall), Some(there.name)))
      try {
        val failure = failureOf(started(reading(here, there)()))
        failure.getMessage should (include("KINESIS_ACCESS_DENIED") and include(there.arn) and not include here.name)
      } finally far.faults.clear()
    }

    it("that does not exist fails the query with its name and region") {
      val (here, absent) = (near(), Place("absent", far, "222222222222"))
      val failure        = failureOf(started(reading(here, absent)()))
      failure.getMessage should (include("KINESIS_NOT_FOUND") and include("absent") and include("eu-west-1"))
    }
  }

  describe("a changed list of streams") {
    it("starts an added stream at its position, and continues the others") {
      val (here, there) = (near(), afar())
      val at            = checkpoint()
      val log           = new BatchLog
      val first         = here.put("first", 30)
      running(reading(here)(), at)(log.add)(_ => once(log, first))
      val expected = first ++ here.put("meanwhile", 30) ++ there.put("old", 30)
      running(reading(here, there)(), at)(log.add)(_ => once(log, expected))
      val more = here.put("c", 10) ++ there.put("d", 10)
      running(reading(there, here)(), at)(log.add)(_ => once(log, expected ++ more))
    }

    it("without a checkpointed stream is refused, or drops it with failOnDataLoss=false and a warning") {
      val (here, there) = (near(), afar())
      val at            = checkpoint()
      val log           = new BatchLog
      val first         = inTurn(here, there, at, log)
      val refused       = failureOf(started(reading(here)(), at))
      refused.getMessage should (include("KINESIS_OFFSET_REFUSED") and include(there.arn) and include("failOnDataLoss"))
      val more      = here.put("c", 10)
      val (_, logs) = withLogs {
        running(reading(here)("failOnDataLoss" -> "false"), at)(log.add) { _ =>
          once(log, first ++ more)
          awaitCommit(at, log)
        }
      }
      logs.linesIterator.count(l =>
        l.startsWith("WARN") && l.contains(there.arn) && l.contains("not read any more")
      ) shouldBe 1
      lastOffset(at) should (include(here.arn) and not include there.arn)
      // LATEST is a whole second of the service's clock: what was read before must be of an earlier one.
      val read = System.currentTimeMillis()
      eventually(System.currentTimeMillis() should be > read + 1000)
      // Now it is a stream like any other that is added.
      val back = here.put("d", 10)
      running(reading(here, there)(there.own("startingPosition", "LATEST")), at)(log.add) { _ =>
        once(log, first ++ more ++ back)
        lastOffset(at) should include(there.arn)
      }
    }

    it("replays an uncommitted batch with the records of a removed stream") {
      val (here, there) = (near(), afar())
      val at            = checkpoint()
      val log           = new BatchLog
      val first         = inTurn(here, there, at, log)
      val lastBatch     = log.all.last._1
      eraseCommit(at, lastBatch)
      // Its own options have gone with it: here the general endpoint is the one that knows it.
      val general = Seq("failOnDataLoss" -> "false", "endpoint" -> far.endpoint.toString)
      val more    = here.put("c", 10)
      running(reading(here)(general: _*), at)(log.add)(_ => once(log, first ++ more))
      log.replays should contain(lastBatch)
    }

    it("fails if the removed stream of an uncommitted batch cannot be read, with what to do") {
      val (here, there) = (near(), afar())
      val at            = checkpoint()
      val log           = new BatchLog
      val first         = inTurn(here, there, at, log)
      eraseCommit(at, log.all.last._1)
      val general =
        Seq("failOnDataLoss" -> "false", "endpoint" -> kinesis.endpoint.toString, "region" -> kinesis.region)
      val failure = failureOf(started(reading(here)(general: _*), at))
      failure.getMessage should (include("KINESIS_OFFSET_REFUSED") and include(there.arn) and include("Put the stream"))
      // As it says.
      running(reading(here, there)(), at)(log.add)(query => eventually(query.lastProgress.batchId should be > 0L))
      log.texts.sorted shouldBe first.sorted
    }

    it("replays an uncommitted batch without the removed stream if that was deleted") {
      val (here, there) = (near(), near())
      val at            = checkpoint()
      val log           = new BatchLog
      inTurn(here, there, at, log)
      val lastBatch = log.all.last._1
      eraseCommit(at, lastBatch)
      there.server.streams.deleteStream(there.name)
      val general =
        Seq("failOnDataLoss" -> "false", "endpoint" -> kinesis.endpoint.toString, "region" -> kinesis.region)
      val second = new BatchLog
      val more   = here.put("c", 10)
      running(reading(here)(general: _*), at)(second.add)(_ =>
        eventually(second.texts should contain allElementsOf more)
      )
      second.rows.map(_.stream).distinct shouldBe Seq(here.name)
    }
  }
}

object SeveralStreams {

  /** A stream with its region, account and server. */
  final case class Place(name: String, server: KinesisServer, account: String) {
    def arn: String = s"arn:aws:kinesis:${server.region}:$account:stream/$name"

    /** Puts records over all shards and returns their texts. */
    def put(prefix: String, count: Int): Seq[String] =
      (0 until count).map(i => s"$prefix-$i").map { text =>
        server.streams.put(name, text, text)
        text
      }

    def own(option: String, value: String): (String, String) = s"stream.$name.$option" -> value
    def whereabouts: Map[String, String] = Map(own("region", server.region), own("endpoint", server.endpoint.toString))
  }
}

class SeveralStreamsSpec extends Suites(Passes.modes(Mode.FanOut)(new SeveralStreams(_)): _*)
