package io.github.kinesisspark.it.soak

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

/** The threads there are.
  *
  * @param pools of the connector, its clients and the SDK, by the kind that their names tell
  * @param all   of everybody, but for Spark's block manager and the server, whose own pools grow to their sizes in their time
  */
final case class Threads(pools: Map[String, Int], all: Int) {

  /** What has grown since. Pools are made with clients and queries, and none may be left; the number of threads in a pool
    * follows the work.
    */
  def grown(now: Threads): Vector[String] =
    now.pools.toVector.sorted.collect {
      case (kind, n) if n > pools.getOrElse(kind, 0) =>
        s"thread pools $kind: first ${pools.getOrElse(kind, 0)}, later $n"
    } ++ Option.when(now.all > all + Threads.Breath)(s"threads: first $all, later ${now.all}")
}

object Threads {

  /** Pools may have that many threads more at one moment than at another. */
  val Breath = 24

  def now(): Threads = of(Thread.getAllStackTraces.keySet.asScala.iterator.map(_.getName).toVector)

  def of(names: Vector[String]): Threads = Threads(
    names
      .filter(isOurs)
      .map(_.replaceFirst("-?\\d+$", ""))
      .distinct
      .groupMapReduce(_.replaceAll("\\d+", "#"))(_ => 1)(_ + _),
    names.count(name => !Seq("block-manager-", "kinesis-testkit-").exists(name.startsWith))
  )

  /** Those that are there as long as their client or query. */
  private def isOurs(name: String) =
    Seq("kinesis-shard", "kinesis-spark", "kinesis-release", "aws-java-sdk-Netty", "sdk-Scheduled")
      .exists(name.startsWith)
}

/** Heap that was used at even intervals, in bytes. What is buffered at the moment comes and goes, so the least of the last
  * quarter is compared with the least of the second.
  */
final case class Heap(used: Vector[Long]) {
  private val quarter = used.size / 4

  val second: Long = used.slice(quarter, quarter * 2).minOption.getOrElse(0L)
  val last: Long   = used.takeRight(quarter).minOption.getOrElse(0L)

  def and(more: Long): Heap = Heap(used :+ more)

  /** @param slack bytes that are no growth, on top of a tenth */
  def isFlat(slack: Long): Boolean = quarter > 0 && last <= second + second / 10 + slack
}

object Heap {

  /** Used after a collection. */
  def now(): Long = {
    System.gc()
    ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed
  }
}

/** What this process has open, by Linux's own account; elsewhere nothing is known, and nothing grows. */
final case class Handles(sockets: Int, files: Int) {
  def grown(now: Handles): Vector[String] =
    Vector(("sockets", sockets, now.sockets), ("open files", files, now.files)).collect {
      case (what, first, later) if later > first + Handles.Breath => s"$what: first $first, later $later"
    }
}

object Handles {

  /** A connection is two sockets here, where the server is in the same process; some are made anew while others are closed. */
  val Breath = 16

  def now(): Handles = {
    val open = Using(Files.list(Paths.get("/proc/self/fd"))) { all =>
      all.iterator.asScala.flatMap(fd => Try(Files.readSymbolicLink(fd).toString).toOption).toVector
    }.getOrElse(Vector.empty)
    val (sockets, others) = open.partition(_.startsWith("socket:"))
    Handles(sockets.size, others.size)
  }
}

/** Files below a directory. */
object FilesIn {
  def count(directory: Path): Int =
    Using(Files.walk(directory))(_.iterator.asScala.count(path => Files.isRegularFile(path))).get
}
