package io.github.kinesisspark.read.reader

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable
import scala.concurrent.Future
import scala.concurrent.duration._

import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.runtime.{Runtime, Worker}

/** All pools of one executor, by source. Tasks find their readers here; a pool whose lease is over is closed from here.
  *
  * Two threads serve all readers of all queries: none of their work blocks.
  *
  * @param executorId may change: tests and notebooks stop a SparkContext and start another
  */
final class ShardReaderPools(executorId: () => String, clients: KinesisClients) {
  import ShardReaderPools._
  import clients.runtime

  private val pools    = mutable.HashMap.empty[String, ShardReaderPool]
  private val released = mutable.LinkedHashSet.empty[String]

  @volatile private var reporter: ReaderReport => Future[Boolean] = (_: ReaderReport) => Future.successful(false)

  /** For simulations, which look at what they must not touch. */
  private[kinesisspark] def all: Vector[ShardReaderPool] = synchronized(pools.values.toVector)
  private[kinesisspark] def memory: MemoryBudget         = shared.memory

  private lazy val shared = {
    val made   = new ReadersShared(clients, runtime.workers.fixed("kinesis-shard-readers", 2))
    val expiry = new Expiry(() => expired())
    made.worker.every(30.seconds)(expiry.run())
    made
  }

  /** What a task reads its ranges by: of a source that is stopped, and of a batch read, without live readers. To be closed by the task. */
  def task(config: ReaderConfig): TaskReaders =
    new TaskReaders(config, if (config.batch.isEmpty) used(config) else None, shared)

  /** The readers that a task of a real-time batch was placed with; nothing where Spark has run it elsewhere. */
  def placedOn(executor: String, config: ReaderConfig): Option[ShardReaderPool] =
    if (executorId() == executor) used(config) else None

  /** Readers for one task alone, which closes them. They poll: a subscription would end that of the reader it was placed with. */
  def ofTask(config: ReaderConfig): ShardReaderPool =
    new ShardReaderPool(config, executorId, shared, _ => Future.successful(false))

  def close(source: String): Unit = synchronized {
    // An order that was on its way when its query stopped must not bring the readers back.
    released += source
    if (released.size > RememberedSources) released -= released.head
    pools.remove(source)
  }.foreach(_.close())

  /** Answers a request, if its source still runs. */
  def answer[A](request: ReaderRequest[A]): Option[A] = request match {
    case order: ReadOrder =>
      order.settings.fold(existing(order.sourceId))(settings => running(settings.config)).flatMap(_.applyOrder(order))
    case release: ReleaseRequest =>
      close(release.sourceId)
      Some(true)
  }

  /** The driver lives, and says what it has read here. Must not block. */
  def named(by: Heartbeat): LivePools = LivePools(
    for {
      (source, epoch) <- by.epochs
      pool            <- existing(source)
    } yield source -> pool.named(epoch, by),
    runtime.clock.nanos()
  )

  /** Whether a source has readers here. */
  private[kinesisspark] def holds(source: String): Boolean = existing(source).isDefined

  /** Who sends reports to the driver; must not block. */
  def reportBy(send: ReaderReport => Future[Boolean]): Unit = reporter = send

  private def used(config: ReaderConfig) = {
    val pool = running(config)
    pool.foreach(_.use(config))
    pool
  }

  private def existing(source: String) = synchronized(pools.get(source))

  private def running(config: ReaderConfig): Option[ShardReaderPool] = synchronized {
    Option.unless(released(config.sourceId))(
      pools.getOrElseUpdate(
        config.sourceId,
        new ShardReaderPool(config, executorId, shared, report => reporter(report))
      )
    )
  }

  /** Whoever gets them closes them. */
  private def expired() = synchronized {
    val old = pools.filter(_._2.isExpired).toVector
    pools --= old.map(_._1)
    old.map(_._2)
  }
}

private object ShardReaderPools {
  private val RememberedSources = 1000
}

/** What all readers of one executor share, whatever their source. */
final class ReadersShared(val clients: KinesisClients, val worker: Worker) {
  implicit val runtime: Runtime = clients.runtime

  val memory = new MemoryBudget(worker)

  private val pools = new AtomicLong(runtime.clock.nanos())

  /** Identifies a pool: another executor of the same id, which came later, has other numbers. */
  def newPool(): Long = pools.incrementAndGet()
}

/** Closes what has expired, on a thread of its own: closing waits for what the caller's thread brings about. Whatever is thrown keeps nothing else
  * from being closed.
  *
  * @param expired what is to be closed
  */
private[reader] final class Expiry(expired: () => Vector[AutoCloseable])(implicit runtime: Runtime) {
  private val log = LoggerFactory.getLogger(classOf[Expiry])

  /** Where no thread can be started, they wait for the next run. */
  private val waiting = new ConcurrentLinkedQueue[AutoCloseable]

  def run(): Unit = logged {
    expired().foreach(waiting.add)
    if (!waiting.isEmpty)
      runtime.workers.start("kinesis-closing")(
        Iterator.continually(waiting.poll()).takeWhile(_ != null).foreach(one => logged(one.close()))
      )
  }

  private def logged(work: => Unit): Unit =
    try work
    catch { case e: Throwable => log.warn("Closing readers whose query is gone failed.", e) }
}
