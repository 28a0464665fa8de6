package io.github.kinesisspark.it.source

import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.Future
import scala.concurrent.duration._

import org.apache.spark.SparkContext
import org.apache.spark.sql.DataFrame
import org.scalatest.concurrent.ThreadSignaler
import org.scalatest.time.{Seconds, Span}

import io.github.kinesisspark.read.coordinator.ExecutorHealth
import io.github.kinesisspark.read.plan.ExecutorId

/** Tests queries whose executors Spark has removed, as they had nothing to do: dynamic allocation without a least number. */
final class ScaleToZeroSpec extends TestkitSuite {
  import ScaleToZeroSpec._

  private def processAll(query: org.apache.spark.sql.streaming.StreamingQuery): Unit =
    failAfter(Span(180, Seconds))(query.processAllAvailable())(ThreadSignaler)

  it("an idle query without executors starts none until there are records, and then reads them") {
    val stream = newStream(shards = 2)
    val log    = new BatchLog
    val first  = put(stream, "first", 20)
    val query  = spark.readStream
      .format(classOf[Provider].getName)
      .options(options(stream) + ("startingPosition" -> "TRIM_HORIZON"))
      .load()
      .writeStream
      .option("checkpointLocation", checkpoint().toString)
      .foreachBatch((batch: DataFrame, id: Long) => log.add(batch, id))
      .start()
    try {
      eventually(log.texts.sorted shouldBe first.sorted)
      hasExecutor = false
      val planned = query.recentProgress.length
      processAll(query)
      // One for each second without a batch, so that plannings continue: for longer than a source can be silent without lag.
      eventually(query.recentProgress.length should be > planned + 12)
      starts.get shouldBe 0
      lag() shouldBe 0
      val second = put(stream, "second", 20)
      eventually(log.texts.sorted shouldBe (first ++ second).sorted)
      starts.get shouldBe 1

      hasExecutor = false
      stream.split(stream.openShards().head)
      awaitOpen(stream, 3)
      val third = put(stream, "third", 20)
      processAll(query)
      log.texts.sorted shouldBe (first ++ second ++ third).sorted
      starts.get shouldBe 2
    } finally query.stop()
  }
}

object ScaleToZeroSpec {
  @volatile private var hasExecutor = true
  @volatile private var lag         = () => 0L
  private val starts                = new AtomicInteger

  final class Provider extends HostedProvider(Elastic(_)) {
    override protected def show(group: String, gauges: Map[String, () => Long]): AutoCloseable = {
      lag = gauges("maxMillisBehindLatest")
      super.show(group, gauges)
    }
  }

  /** An executor comes when the driver has work for it, and goes when a test says so. Its end is not opened. */
  private final case class Elastic(sc: SparkContext) extends LocalCluster(sc) {
    override def registered(): Vector[ExecutorHealth.ExecutorState] =
      if (hasExecutor) super.registered() else Vector.empty

    override def executors(): Vector[ExecutorHealth.ExecutorState] = {
      if (!hasExecutor) {
        starts.incrementAndGet()
        hasExecutor = true
      }
      registered()
    }

    override def idleTimeout: Option[FiniteDuration] = Some(1.minute)

    override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
        opened: Either[String, Option[String]] => Unit
    ): Future[Unit] = Future.successful(executors.foreach(_ => opened(Right(Some("refused by the test")))))
  }
}
