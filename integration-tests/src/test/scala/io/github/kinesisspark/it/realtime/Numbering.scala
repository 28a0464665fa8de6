package io.github.kinesisspark.it.realtime

import org.apache.spark.sql.{DataFrame, Encoders}
import org.apache.spark.sql.streaming._

/** A query with a state of its own for each text: how often the text has come. Python tests run it on Sparks that have stateful
  * operators in real-time mode, where Python's own `transformWithState` is not on Spark's list.
  */
object Numbering {

  /** Each row of a column of texts as `text=n` for its n-th time, with the text as partition key. */
  def of(rows: DataFrame): DataFrame = {
    val texts = rows.as(Encoders.STRING)
    texts
      .groupByKey((text: String) => text)(Encoders.STRING)
      .transformWithState(new Numbering, TimeMode.None(), OutputMode.Update())(Encoders.STRING)
      .selectExpr("value AS data", "substring_index(value, '=', 1) AS partitionKey")
  }
}

private final class Numbering extends StatefulProcessor[String, String, String] {
  @transient private var count: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(text: String, rows: Iterator[String], timers: TimerValues): Iterator[String] =
    rows.map { _ =>
      val next = (if (count.exists()) count.get() else 0L) + 1
      count.update(next)
      s"$text=$next"
    }
}
