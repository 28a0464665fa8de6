package io.github.kinesisspark.testkit

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder
import scala.jdk.CollectionConverters._

/** One finished call.
  *
  * @param at the service's clock when it came in
  * @param start the starting position asked for: the iterator type, and its sequence number or epoch milliseconds
  * @param status the HTTP status; 0 if the connection was reset instead
  * @param error the service's error code
  * @param records how many records the call carried or answered with
  */
final case class Call(
    at: Long,
    action: String,
    stream: Option[String],
    shards: Set[String],
    start: Option[String],
    status: Int,
    error: Option[String],
    records: Int,
    protocol: String
)

/** What was asked of the server: counts without end, single requests for a while. */
final class CallLog private[testkit] (remembered: Int) {
  private val totals  = new ConcurrentHashMap[CallLog.Key, LongAdder]
  private val latest  = new Array[Call](remembered)
  private var written = 0L

  /** Calls of an action. */
  def count(action: String): Long = of(CallLog.Key(action, None, None))

  /** Calls of an action on a stream. */
  def count(action: String, stream: String): Long = of(CallLog.Key(action, Some(stream), None))

  /** Calls of an action on a shard; a PutRecords counts for every shard it put records into. */
  def count(action: String, stream: String, shard: String): Long = of(CallLog.Key(action, Some(stream), Some(shard)))

  /** All counts: per action, per action and stream, per action, stream and shard. */
  def counts: Map[CallLog.Key, Long] = totals.asScala.iterator.map { case (k, n) => k -> n.sum }.toMap

  /** The latest calls, oldest first. */
  def recent: Vector[Call] = synchronized {
    val kept = math.min(written, remembered.toLong)
    Vector.tabulate(kept.toInt)(i => latest(((written - kept + i) % remembered).toInt))
  }

  def clear(): Unit = synchronized { totals.clear(); written = 0 }

  private[testkit] def add(call: Call): Unit = {
    increment(CallLog.Key(call.action, None, None))
    if (call.stream.nonEmpty) {
      increment(CallLog.Key(call.action, call.stream, None))
      call.shards.foreach(s => increment(CallLog.Key(call.action, call.stream, Some(s))))
    }
    if (remembered > 0) synchronized {
      latest((written % remembered).toInt) = call
      written += 1
    }
  }

  private def increment(key: CallLog.Key): Unit = totals.computeIfAbsent(key, _ => new LongAdder).increment()

  private def of(key: CallLog.Key): Long = Option(totals.get(key)).fold(0L)(_.sum)
}

object CallLog {

  /** What calls are counted by. */
  final case class Key(action: String, stream: Option[String], shard: Option[String])
}
