package io.github.kinesisspark.besidekafka

import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{DataFrame, Encoders}

/** What a query does with texts that are numbers.
  *
  * @param run from `text` and `arrived` to `key` and `text`: the text of a number is the number again, or a greater one under its key
  */
sealed abstract class Workload(val name: String, val run: DataFrame => DataFrame)

/** Spark's own workloads of real-time mode. */
object Workload {

  /** How many keys there are: a number has the key of its last two digits. */
  val Keys = 100

  def keyOf(number: Long): String = (number % Keys).toString

  private val Key = s"CAST(CAST(text AS BIGINT) % $Keys AS STRING) AS key"

  case object Stateless extends Workload("stateless", _.where("crc32(text) >= 0").selectExpr(Key, "text"))

  case object Duplicates extends Workload("dropDuplicates", _.dropDuplicates("text").selectExpr(Key, "text"))

  case object Windows
      extends Workload(
        "windowed count",
        _.selectExpr(Key, "CAST(text AS BIGINT) AS number", "arrived")
          .groupBy(window(col("arrived"), "10 seconds"), col("key"))
          .agg(count(lit(1)).as("times"), max("number").as("last"))
          .where("times > 0")
          .selectExpr("key", "CAST(last AS STRING) AS text")
      )

  case object State
      extends Workload(
        "transformWithState",
        _.select("text")
          .as(Encoders.STRING)
          .groupByKey((text: String) => keyOf(text.toLong))(Encoders.STRING)
          .transformWithState(new Counting, TimeMode.None(), OutputMode.Update())(Encoders.STRING)
          .selectExpr("value AS text")
          .selectExpr(Key, "text")
      )

  val all: Seq[Workload] = Seq(Stateless, Duplicates, Windows, State)
}

/** Counts the rows of a key, and returns each. */
private final class Counting extends StatefulProcessor[String, String, String] {
  @transient private var count: ValueState[Long] = _

  override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
    count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(key: String, rows: Iterator[String], timers: TimerValues): Iterator[String] =
    rows.map { row =>
      count.update((if (count.exists()) count.get() else 0L) + 1)
      row
    }
}
