package io.github.kinesisspark.read.shard

import java.util.concurrent.{ScheduledExecutorService, ScheduledThreadPoolExecutor, TimeUnit}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.DaemonThreads

/** All pools of this JVM, by source. Tasks find their readers here; who is not heard of any more is closed from here.
  *
  * Two threads serve all readers of all queries: none of their work blocks.
  */
object ShardReaderPools {
  private val log      = LoggerFactory.getLogger(getClass)
  private val pools    = mutable.HashMap.empty[String, ShardReaderPool]
  private val released = mutable.LinkedHashSet.empty[String]

  /** Of all readers of this JVM. */
  private val memory = new MemoryBudget

  private lazy val worker: ScheduledExecutorService = {
    val threads = new ScheduledThreadPoolExecutor(2, new DaemonThreads("kinesis-shard-readers"))
    // Timers of subscriptions are mostly cancelled, long before they are due.
    threads.setRemoveOnCancelPolicy(true)
    threads.scheduleWithFixedDelay(() => closeExpired(), 30, 30, TimeUnit.SECONDS)
    threads
  }

  /** What a task reads its ranges by: of a source that is stopped, and of a batch read, without live readers. To be closed by the task. */
  def task(config: ReaderConfig): TaskReaders =
    new TaskReaders(config, if (config.batch.isEmpty) running(config) else None, worker, memory)

  /** The readers that a task of a real-time batch was placed with; nothing where Spark has run it elsewhere. */
  def placedOn(executor: String, config: ReaderConfig): Option[ShardReaderPool] =
    if (isHere(executor)) running(config) else None

  /** Readers for one task alone, which closes them. They poll: a subscription would end that of the reader it was placed with. */
  def ofTask(config: ReaderConfig): ShardReaderPool = new ShardReaderPool(config, worker, memory)

  def close(source: String): Unit = synchronized {
    // A probe that was on its way when its query stopped must not bring the readers back.
    released += source
    if (released.size > RememberedSources) released -= released.head
    pools.remove(source)
  }.foreach(_.close())

  /** Answers a probe, if it has come to the executor it is for and its source still runs. */
  def answer(request: ProbeRequest): Option[ProbeAnswer] =
    if (isHere(request.executorId)) running(request.config).map(_.probe(request)) else None

  def answer(request: CutRequest): Option[CutAnswer] =
    if (isHere(request.executorId)) synchronized(pools.get(request.source)).map(_.cut(request.allotments)) else None

  def answer(request: SplitRequest): Option[SplitAnswer] =
    if (isHere(request.executorId)) synchronized(pools.get(request.source)).map(_.split(request.ranges)) else None

  private def running(config: ReaderConfig): Option[ShardReaderPool] = synchronized {
    Option.unless(released(config.source))(
      pools.getOrElseUpdate(config.source, new ShardReaderPool(config, worker, memory))
    )
  }

  private val RememberedSources = 1000

  private def isHere(executorId: String) = SparkEnv.get.executorId == executorId

  /** A look that fails must not be the last one: what a periodic task throws ends it for good. */
  private def closeExpired(): Unit =
    try {
      val expired = synchronized {
        val old = pools.filter(_._2.isExpired).toVector
        pools --= old.map(_._1)
        old
      }
      expired.foreach(_._2.close())
    } catch { case NonFatal(e) => log.warn("Closing readers whose query is gone failed.", e) }
}
