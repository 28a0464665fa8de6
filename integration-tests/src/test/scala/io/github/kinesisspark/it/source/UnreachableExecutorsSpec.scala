package io.github.kinesisspark.it.source

import java.nio.file.Path

import scala.concurrent.Future

import org.apache.spark.SparkContext
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Suites

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.read.plan.ExecutorId

/** Tests queries whose executors can't open their ends of the channel to the driver. */
final class UnreachableExecutors(override protected val mode: Mode) extends TestkitSuite with CapturedLogs {
  override def suiteName: String = s"Unreachable executors by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.streaming.realTimeMode.minBatchDuration" -> "500")

  private def unreachable(stream: TestStream): DataFrame = spark.readStream
    .format(classOf[UnreachableExecutors.Provider].getName)
    .options(options(stream) + ("startingPosition" -> "TRIM_HORIZON") ++ mode.options)
    .load()

  private def start(stream: TestStream, at: Path, log: BatchLog, trigger: Trigger): StreamingQuery =
    start(unreachable(stream), at, trigger)(log.add)

  @annotation.nowarn("cat=deprecation")
  private def once = Trigger.Once()

  describe("a query whose executors can't be reached") {
    it("reads each record once by every trigger, through a reshard and with a batch that comes again, and warns once") {
      val stream                           = newStream(shards = 2)
      val at                               = checkpoint()
      val log                              = new BatchLog
      var written                          = put(stream, "before", 100)
      def more(prefix: String, count: Int) = written ++= put(stream, prefix, count)
      def all()                            = log.texts.sorted shouldBe written.sorted

      val (_, logged) = withLogs {
        val query = start(stream, at, log, Trigger.ProcessingTime(0))
        try {
          eventually(all())
          stream.split(stream.openShards().head)
          awaitOpen(stream, 3)
          more("split", 100)
          query.processAllAvailable()
          all()
          query.lastProgress.sources.head.metrics.get("shardsOpen") shouldBe "3"
        } finally query.stop()
      }
      logged.split("can open its end of the channel to the driver \\(refused by the test\\)", -1) should have size 2

      val last = log.all.last._1
      eraseCommit(at, last)
      for (trigger <- Seq(Trigger.AvailableNow(), once)) {
        more(trigger.toString, 50)
        start(stream, at, log, trigger).awaitTermination()
        all()
      }
      log.replays should contain(last)

      more("timed", 50)
      val timed = start(stream, at, log, Trigger.ProcessingTime("200 milliseconds"))
      try eventually(all())
      finally timed.stop()
      parentsComeFirst(stream, log.rows.map(_.shardId))
    }

    it("in real-time mode delivers each record once") {
      val stream = newStream(shards = 2)
      val log    = new RealTimeLog
      val query  = unreachable(stream)
        .selectExpr("shardId", "sequenceNumber", "cast(data as string)")
        .writeStream
        .outputMode("update")
        .trigger(Trigger.RealTime("1 second"))
        .option("checkpointLocation", checkpoint().toString)
        .foreach(log.writer)
        .start()
      try {
        val first = put(stream, "first", 50)
        eventually(log.texts.sorted shouldBe first.sorted)
        val batch  = log.rows.map(_.batch).max
        val second = put(stream, "second", 50)
        eventually(log.texts.sorted shouldBe (first ++ second).sorted)
        eventually(query.recentProgress.map(_.batchId).max should be > batch)
        log.texts.sorted shouldBe (first ++ second).sorted
      } finally query.stop()
    }
  }
}

object UnreachableExecutors {
  final class Provider extends HostedProvider(Refusing(_))

  /** The one executor of local mode. It refuses to open its end. */
  private final case class Refusing(sc: SparkContext) extends LocalCluster(sc) {
    override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
        opened: Either[String, Option[String]] => Unit
    ): Future[Unit] = Future.successful(executors.foreach(_ => opened(Right(Some("refused by the test")))))
  }
}

class UnreachableExecutorsSpec extends Suites(Passes.modes(Mode.FanOut)(new UnreachableExecutors(_)): _*)
