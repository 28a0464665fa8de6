package io.github.kinesisspark.read.stream

import java.util.{Map => JavaMap, UUID}

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

/** The trigger of a streaming query, which Spark shows to no source. By reflection: its classes move from version to version, and the names of
  * these methods have not changed since Spark 3.0.
  */
object QueryTrigger {
  private val log = LoggerFactory.getLogger(getClass)

  /** From one trigger of the query to the next; nothing for a query that plans a batch as soon as the last one is over, or shortly after, and for
    * triggers of other kinds. Called on the query's own thread.
    */
  def interval(sc: SparkContext): Option[FiniteDuration] =
    try
      for {
        id      <- Option(sc.getLocalProperty(QueryId))
        session <- SparkSession.getActiveSession
        queries = call(call(session, "sharedState"), "activeStreamingQueries").asInstanceOf[JavaMap[UUID, AnyRef]]
        query <- Option(queries.get(UUID.fromString(id)))
        trigger = call(query, "trigger")
        if trigger.getClass.getSimpleName == "ProcessingTimeTrigger"
        millis = call(trigger, "intervalMs").asInstanceOf[Long]
        if millis >= Least.toMillis
      } yield millis.millis
    catch {
      case NonFatal(e) =>
        log.warn(
          "This Spark does not show a query's trigger. Micro-batches end where the readers' buffers end, however long the trigger is.",
          e
        )
        None
    }

  private def call(on: AnyRef, method: String): AnyRef = on.getClass.getMethod(method).invoke(on)

  /** As Spark's StreamExecution sets it on the query's thread. */
  private val QueryId = "sql.streaming.queryId"

  /** Shorter ones bound no batch: the shards give less than buffers hold. */
  private val Least = 1.second
}
