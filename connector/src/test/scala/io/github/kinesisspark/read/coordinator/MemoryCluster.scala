package io.github.kinesisspark.read.coordinator

import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.Future
import scala.concurrent.duration._

import io.github.kinesisspark.Generators.{shardId, stream}
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.position.{ConsumerArn, HashKeyRange, KinesisOffset, Shard, ShardKey}
import io.github.kinesisspark.read.plan.{
  Admission,
  BoundarySpacing,
  ExecutorId,
  Lineage,
  PlanningState,
  WatermarkAlignment
}
import io.github.kinesisspark.read.reader._
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}
import io.github.kinesisspark.runtime.FastRuntime
import io.github.kinesisspark.read.plan.PlanningView.Goal
import io.github.kinesisspark.position.ShardPosition.TrimHorizon

/** A driver with one query that reads a stream in memory, and its executors: the engine's own classes, each process with its own time and threads.
  *
  * @param name of the driver, in the network
  */
final class MemoryCluster(
    name: String,
    network: MemoryNetwork,
    service: MemoryStream,
    shards: Int,
    size: Int,
    speed: Int,
    by: ResolvedPublisher
) extends Cluster {
  val process = new FastRuntime(speed)
  import process.runtime

  val source: String = runtime.ids.uuid()

  /** An executor with its own clients. */
  final class Executor(val id: String) {
    val process         = new FastRuntime(speed)
    val place           = s"$name-$id"
    val made            = new AtomicInteger
    private val clients = new KinesisClients((_, success) => {
      made.incrementAndGet()
      new KinesisClients.SharedClient(service.client(place), success, () => ())
    })(process.runtime)
    val engine = new ExecutorRuntime(() => id, clients, network.of(place))

    def holds: Boolean             = engine.pools.holds(source)
    def reads(shard: Int): Boolean = engine.pools.all.exists(_.all.exists(_.shard == ShardKey(stream, shardId(shard))))
  }

  val own: Vector[Executor] = Vector.tabulate(size)(i => new Executor((i + 1).toString))

  /** The executors that are registered with Spark. */
  @volatile var present: Vector[Executor] = own

  private val access = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1")
  private val byId   = own.map(e => e.id -> e).toMap
  private val config =
    ReaderConfig(source, Map(stream -> access), 16L << 20, PollingOptions.Default, failOnDataLoss = true)
  private val clients = new KinesisClients((_, _) => throw new IllegalStateException("the driver calls nothing here"))
  private val driver  =
    new DriverRuntime(clients, network.of(name), throw new IllegalStateException("not in local mode"))
  private val readers = new ShardCoordinator(
    new ClusterChannel(this, source, driver),
    config,
    () => by,
    WatermarkAlignment.off,
    _ => BoundarySpacing.none
  )
  private val tasks   = KinesisPartitionReaderFactory(config)
  private var isOpen  = true
  private val lineage =
    Lineage((0 until shards).map(n => Shard(shardId(n), Nil, HashKeyRange.all, closed = false)).toVector)

  /** Whether the driver keeps reports of the source. */
  def hasReports: Boolean = driver.orders.get(source).isDefined

  private var at             = KinesisOffset.initial
  private var fairnessOffset = 0L

  /** The data of all records that were read, batch by batch, as a query reads them. */
  var read = Vector.empty[String]

  /** @param meanwhile happens while the batch runs
    * @throws io.github.kinesisspark.aws.KinesisException as a reader has failed
    */
  def batch(meanwhile: => Unit = ()): Unit = {
    fairnessOffset += 1
    val planning = PlanningState(
      at,
      Map(stream -> PlanningState.Stream(1L, lineage, Vector.tabulate(shards)(shardId(_) -> TrimHorizon)))
    )
    val view = readers.await(planning, planning.open, Goal(Map.empty, patience = 10.seconds))
    view.statuses.values.flatMap(_.failure).foreach(failure => throw failure.exception)
    val plan = view.admit(Admission.Limits.none, fairnessOffset).slices
    readers.begin(plan)
    meanwhile
    val end = planning.end(plan.ends.transform((_, cut) => cut.position))
    readers.group(plan, at.rangesTo(end), leastTasks = 1).foreach { group =>
      val on   = group.executor.fold(own.head)(e => byId(e.id))
      val rows = tasks.readerIn(on.engine, KinesisInputPartition(group, known = None))
      while (rows.next()) read :+= new String(rows.get().getBinary(0))
      rows.close()
    }
    at = end
  }

  /** Waits until all executors are connected. A planning waits for the first one, and two seconds at most for the others. */
  def connect(): Unit = driver.endpoint(this).foreach { end =>
    end.keep(source, session)
    val deadline = 1.minute.fromNow
    while (end.answering(executors(), session).size < size && deadline.hasTimeLeft()) Thread.sleep(10)
  }

  /** Batches until there are so many records, or a minute is over. */
  def readUntil(records: Int): Vector[String] = {
    val deadline = 1.minute.fromNow
    while (read.size < records && deadline.hasTimeLeft()) batch()
    read.sorted
  }

  /** Reads all there is, and then looks for more for 20 s. */
  def catchUp(): Unit = {
    readUntil(service.texts.size)
    batch()
    batch()
  }

  def reporting: Set[String] = driver.orders.of(source).reports.now.keySet

  /** Where a shard is read, as the driver has it. */
  def home(shard: Int): Option[Executor] =
    readers.now.homes.get(ShardKey(stream, shardId(shard))).map(e => byId(e.id))

  /** An attempt of a task of a real-time batch begins the shard there, and fails. */
  def beginAndFail(shard: Int, on: Executor): Unit = {
    val pool   = on.engine.pools.placedOn(on.id, config).get
    val onNews = () => ()
    pool.follow(ShardKey(stream, shardId(shard)), TrimHorizon, by, onNews)
    pool.unfollow(ShardKey(stream, shardId(shard)), onNews)
  }

  /** No message passes between this driver and that executor. */
  def isolate(executor: Executor): Unit = {
    network.cut(name, executor.place)
    network.cut(executor.place, name)
  }

  def close(): Unit = if (isOpen) {
    isOpen = false
    readers.close()
  }

  override def executors(): Vector[ExecutorHealth.ExecutorState]  = registered()
  override def registered(): Vector[ExecutorHealth.ExecutorState] =
    present.map(e =>
      ExecutorHealth.ExecutorState(ExecutorId("host", e.id), isExcluded = false, isLeaving = false, freeSlots = 1)
    )
  override def idleTimeout: Option[FiniteDuration] = None
  override def slots: Int                          = present.size
  override def session: String                     = ""
  override def isStopped: Boolean                  = false

  override def openEnds(name: String, session: String, on: Vector[ExecutorId])(
      opened: Either[String, Option[String]] => Unit
  ): Future[Unit] = network.run(on.foreach(e => opened(Right(byId(e.id).engine.endpoint.open(name, session)))))
}

object MemoryCluster {
  val Consumer: ResolvedPublisher =
    ResolvedPublisher.FanOut(Map(stream -> ConsumerArn(s"${stream.text}/consumer/it:1600000000")))
}
