package io.github.kinesisspark.it.soak

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._

/** What must not grow: threads by the group that their names tell, and heap. */
object Vitals {

  def threads(): Map[String, Int] =
    Thread.getAllStackTraces.keySet.asScala.toVector.groupMapReduce(t => groupOf(t.getName))(_ => 1)(_ + _)

  /** Names differ in numbers and in what they are for. */
  def groupOf(name: String): String = name.takeWhile(_ != '[').replaceAll("(?i)[0-9a-f]*[0-9][0-9a-f]*", "#").trim

  /** Bytes that are used after a collection. */
  def heap(): Long = {
    System.gc()
    ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed
  }

  /** Those of the connector, its clients and the SDK: none of them may become more. Others belong to pools that breathe. */
  private def isOurs(group: String) =
    Seq("kinesis-shard", "kinesis-spark", "kinesis-release", "aws-java-sdk", "sdk-").exists(group.startsWith)

  /** What is not flat about the threads. */
  def grown(before: Map[String, Int], after: Map[String, Int]): Vector[String] = {
    val ours = after.toVector.sorted.collect {
      case (group, n) if isOurs(group) && n > before.getOrElse(group, 0) =>
        s"threads $group: ${before.getOrElse(group, 0)} before, $n after"
    }
    val (all, allowed) = (after.values.sum, before.values.sum + Breath)
    ours ++ Option.when(all > allowed)(s"threads: ${before.values.sum} before, $all after")
  }

  /** Compares the least of the last quarter with the least of the second: what is buffered at the moment comes and goes.
    *
    * @param used at even intervals
    */
  def heapOf(used: Vector[Long]): HeapGrowth = {
    val quarter = used.size / 4
    HeapGrowth(used.slice(quarter, quarter * 2).min, used.takeRight(quarter).min)
  }

  final case class HeapGrowth(second: Long, last: Long) {
    def isFlat: Boolean = last <= second + second / 10 + (16 << 20)
  }

  /** Pools of Spark, the JVM and the server may have that many threads more at one moment than at another. */
  private val Breath = 16
}
