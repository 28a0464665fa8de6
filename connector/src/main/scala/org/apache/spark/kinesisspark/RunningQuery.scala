package org.apache.spark.kinesisspark

import java.util.{Map => JavaMap, UUID}
import java.util.concurrent.locks.{Condition, ReentrantLock}

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, RepartitionOperation}
import org.slf4j.LoggerFactory

/** What a source has to know of its streaming query, and Spark shows to no source: its id, the trigger, its other sources, who waits for it, how many
  * tasks run behind shuffles, how its offsets are stored, and why it ends. By reflection: Spark's classes move from version to version, and the names of
  * these methods have not changed since Spark 3.0, or since they came. Called on the query's own thread.
  */
class RunningQuery(context: SparkContext) {
  import RunningQuery._

  /** As the checkpoint keeps it over all runs of the query. */
  def queryId: Option[String] = Option(context.getLocalProperty(QueryId))

  /** From one trigger of the query to the next, or the length of a real-time batch; nothing for a query that plans a batch as soon as the last one
    * is over, or shortly after, and for triggers of other kinds.
    */
  def interval: Option[FiniteDuration] =
    look("trigger. Micro-batches end where the readers' buffers end, however long the trigger is.") { (_, query) =>
      val trigger = call(query, "trigger")
      Lengths
        .get(trigger.getClass.getSimpleName)
        .map(call(trigger, _).asInstanceOf[Long].millis)
        .filter(_ >= Least)
    }.flatten

  /** As [[RunningQuery.shuffleTasks]]. */
  def shuffleTasks: Int =
    look("plan. Name the cores for the stages behind its shuffles by the option realTime.reservedCores.") {
      (session, query) =>
        val plan = call(query, "logicalPlan").asInstanceOf[LogicalPlan]
        RunningQuery.shuffleTasks(plan, session.conf.get("spark.sql.shuffle.partitions").toInt)
    }.getOrElse(0)

  /** Whether the query ends because another driver runs it: that one has planned or committed a batch in the same checkpoint. */
  def hasLostCheckpoint: Boolean =
    look("failure. Stream consumers are deregistered though another driver may read through them.") { (_, query) =>
      val failure = call(query, "exception").asInstanceOf[Option[Throwable]].orNull
      Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).exists(_.toString.contains(Concurrent))
    }.contains(true)

  /** Whether it is the query's only source. */
  def isAlone: Boolean =
    look("sources. A stream without records delays the batches of other sources by up to a second.") { (_, query) =>
      call(query, "uniqueSources").asInstanceOf[collection.Map[_, _]].size == 1
    }.getOrElse(true)

  /** Whether the query leaves offsets of batches out of its log: by asynchronous progress tracking, with an interval. */
  def leavesOffsetsOut: Boolean =
    look("progress tracking. With asyncProgressTrackingEnabled, a restart may find offsets of no single batch.") {
      (_, query) =>
        query.getClass.getMethods
          .find(_.getName == "asyncProgressTrackingCheckpointingIntervalMs")
          .exists(_.invoke(query).asInstanceOf[Long] > 0)
    }.contains(true)

  /** Who waits in `StreamingQuery.processAllAvailable()`; nothing outside of a query. */
  def callers: Option[Callers] =
    look(
      "callers of processAllAvailable(), which may return before all is processed that was put before the call."
    ) { (_, query) =>
      val lock     = call(query, "awaitProgressLock").asInstanceOf[ReentrantLock]
      val progress = call(query, "awaitProgressLockCondition").asInstanceOf[Condition]
      new Callers(() => lock.isHeldByCurrentThread && (lock.hasWaiters(progress) || lock.hasQueuedThreads))
    }

  private def look[A](missed: String)(at: (SparkSession, AnyRef) => A): Option[A] =
    try
      for {
        id      <- queryId
        session <- SparkSession.getActiveSession
        queries = call(call(session, "sharedState"), "activeStreamingQueries").asInstanceOf[JavaMap[UUID, AnyRef]]
        query <- Option(queries.get(UUID.fromString(id)))
      } yield at(session, query)
    catch {
      case NonFatal(e) =>
        log.warn(s"This Spark does not show a query's $missed", e)
        None
    }
}

object RunningQuery {
  private val log = LoggerFactory.getLogger(getClass)

  /** Callers of `StreamingQuery.processAllAvailable()`. Spark plans a batch under a lock, on whose condition they wait; one that has just come, or that
    * looks again after ten seconds, waits for the lock itself. For the thread that plans.
    *
    * @param are whether somebody waits now
    * @see [[https://spark.apache.org/docs/latest/api/java/org/apache/spark/sql/streaming/StreamingQuery.html StreamingQuery.processAllAvailable]]
    */
  final class Callers(are: () => Boolean) {
    private var were = false

    /** Whether somebody waits, or did since the last answer: who is about to look again is in neither queue for a moment. */
    def areWaiting: Boolean = {
      were ||= are()
      were
    }

    /** This planning answers them that all is processed, unless another source has something. */
    def answered(): Unit = were = false
  }

  /** Tasks of all stages behind the shuffles of a query's rows, which in real-time mode run beside the source's. Static sides of its joins are read before
    * each batch.
    *
    * @param partitions of a shuffle whose operator doesn't say how many it has
    */
  private[spark] def shuffleTasks(plan: LogicalPlan, partitions: Int): Int = plan.collect {
    case node: RepartitionOperation if node.isStreaming       => if (node.shuffle) node.numPartitions else 0
    case node if node.isStreaming && Shuffling(node.nodeName) => partitions
  }.sum

  private def call(on: AnyRef, method: String): AnyRef = on.getClass.getMethod(method).invoke(on)

  /** Triggers that have an interval, with the method that returns it in ms. */
  private val Lengths = Map("ProcessingTimeTrigger" -> "intervalMs", "RealTimeTrigger" -> "batchDurationMs")

  /** In the text of both errors, CONCURRENT_STREAM_LOG_UPDATE and ConcurrentModificationException, since Spark 3.0. */
  private val Concurrent = "Multiple streaming"

  /** As Spark's StreamExecution sets it on the query's thread. */
  private val QueryId = "sql.streaming.queryId"

  /** Shorter ones bound no batch: the shards give less than buffers hold. */
  private val Least = 1.second

  /** Other operators of a logical plan before each of which Spark shuffles its rows. */
  private val Shuffling = Set(
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Distinct",
    "TransformWithState",
    "TransformWithStateInPySpark"
  )
}
