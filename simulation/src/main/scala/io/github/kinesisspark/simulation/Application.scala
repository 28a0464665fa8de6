package io.github.kinesisspark.simulation

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.Offset

import io.github.kinesisspark.WireFormat
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.ShardRange
import io.github.kinesisspark.read.{KinesisInputPartition, KinesisPartitionReaderFactory}
import io.github.kinesisspark.read.coordinator._
import io.github.kinesisspark.read.coordinator.ExecutorHealth.ExecutorState
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.stream.{KinesisMicroBatchStream, QueryHost, RunningQuery}

/** What stays when a driver dies: Spark's two logs, as they are on disk. */
final class Checkpoint {
  private val offsets = mutable.ArrayBuffer.empty[String]
  private var done    = 0

  /** The ends of all batches that were planned, as JSON. */
  def planned: Vector[String] = offsets.toVector
  def committed: Int          = done

  def plan(batch: Int, end: String): Unit = {
    require(batch == offsets.size, s"batch $batch is logged after ${offsets.size} others")
    offsets += end
  }

  def commit(batch: Int): Unit = {
    require(batch == done, s"batch $batch is committed after $done others")
    done += 1
  }
}

/** One record as a task returns it. */
final case class Row(shard: String, number: BigInt, data: String)

/** One Spark application: a driver with one query, and executors. The model of Spark's part: its logs, the order of its calls, and tasks, which are
  * retried, speculated on, and run on other executors than they were planned for.
  *
  * It leaves out: stages, shuffles, other queries, several sources, checkpoints that can't be written.
  */
final class Application(world: World, val number: Int, options: SourceOptions) {
  import Application._
  import world.{baton, network}

  private var madeExecutors = 0

  val driver: Process    = world.process(s"driver-$number")
  private val executors  = mutable.LinkedHashMap.empty[String, Executor]
  private val ownRuntime =
    new DriverRuntime(world.clients(driver), network.of(driver), throw new IllegalStateException("not in local mode"))
  private var hasStopped = false

  // Spark's scheduler, on whose thread all comes in that executors answer.
  private val scheduler = driver.runtime.workers.fixed("scheduler", 1)

  private def inScheduler(work: => Unit): Unit = if (driver.isAlive) scheduler.execute(() => work)

  def isAlive: Boolean                = driver.isAlive && !hasStopped
  def living: Vector[Executor]        = executors.values.filter(_.process.isAlive).toVector
  def processes: Vector[Process]      = driver +: living.map(_.process)
  def executorProcesses: Set[Process] = executors.valuesIterator.map(_.process).toSet

  /** The query's own thread begins. */
  def start(executorCount: Int): Unit = {
    (0 until executorCount).foreach(_ => add())
    driver.begin("query")(query())
  }

  def add(): Unit = {
    madeExecutors += 1
    val id = madeExecutors.toString
    executors(id) = new Executor(id, world.process(s"executor-$number.$id"))
  }

  /** Spark notices later, and begins another in its place. */
  def kill(executor: Executor): Unit = {
    executor.process.log("is killed")
    executor.process.kill()
    baton.after(baton.between(0, 5.seconds.toNanos)) {
      executors -= executor.id
      inScheduler(executor.lost())
      baton.after(baton.between(1.second.toNanos, 10.seconds.toNanos))(if (isAlive) add())
    }
  }

  /** Its executors end when they notice. */
  def kill(): Unit = if (isAlive) {
    hasStopped = true
    driver.log("is killed")
    driver.kill()
    living.foreach { executor =>
      baton.after(baton.between(0, 30.seconds.toNanos)) {
        executor.process.log("ends, as its driver has")
        executor.process.kill()
      }
    }
  }

  /** One executor: its process, and the engine in it. */
  final class Executor(val id: String, val process: Process) {
    val engine          = new ExecutorRuntime(() => id, world.clients(process), network.of(process))
    val executor        = ExecutorId(s"host-$number-$id", id)
    private val running = mutable.ArrayBuffer.empty[() => Boolean]
    private var taken   = 0

    def free: Int = Slots - taken

    /** What runs there answers nothing more. */
    def lost(): Unit = running.toVector.foreach(_())

    /** Runs a task's work here; its result arrives at the driver, unless the executor is lost before. */
    def run[A](name: String)(work: => A): Future[A] = {
      val result                = Promise[A]()
      val end                   = () => result.tryFailure(ExecutorLost)
      def arrived(done: Try[A]) = {
        running -= end
        result.tryComplete(done): Unit
      }
      running += end
      network.sendSafely(driver.name, process.name) {
        if (process.isAlive) process.begin(name) {
          val done = Try(work)
          network.sendSafely(process.name, driver.name)(inScheduler(arrived(done)))
        }
      }
      if (!process.isAlive) inScheduler(end(): Unit)
      result.future
    }

    def read(partition: KinesisInputPartition, factory: KinesisPartitionReaderFactory): Future[Vector[Row]] = {
      // As Spark sends them.
      val (theirs, by) =
        WireFormat.read[(KinesisInputPartition, KinesisPartitionReaderFactory)](WireFormat.write(partition -> factory))
      taken += 1
      val rows = run("task")(readAll(theirs, by))
      rows.onComplete(_ => taken -= 1)(ExecutionContext.parasitic)
      rows
    }

    private def readAll(partition: KinesisInputPartition, by: KinesisPartitionReaderFactory) = {
      if (baton.chance(world.faults.failedTasks)) throw OwnFailure
      val reader = by.readerIn(engine, partition)
      try {
        val rows = Vector.newBuilder[Row]
        while (reader.next()) {
          val row = reader.get()
          rows += Row(
            row.getUTF8String(7).toString,
            BigInt(row.getUTF8String(3).toString),
            new String(row.getBinary(0))
          )
          if (baton.chance(world.faults.slowRows)) process.runtime.waits.sleep(baton.between(1, 400).millis)
        }
        rows.result()
      } finally reader.close()
    }
  }

  private object SimulatedCluster extends Cluster {
    override def executors(): Vector[ExecutorState] = {
      while (Application.this.executors.isEmpty) driver.runtime.waits.sleep(100.millis)
      Application.this.executors.values.toVector.map(e =>
        ExecutorState(e.executor, isExcluded = false, isLeaving = false, freeSlots = e.free)
      )
    }
    override def idleTimeout: Option[FiniteDuration] = None
    override def slots: Int                          = Application.this.executors.size * Slots
    override def session: String                     = ""
    override def isStopped: Boolean                  = hasStopped

    override def openEnds(name: String, session: String, on: Vector[ExecutorId])(
        opened: Either[String, Option[String]] => Unit
    ): Future[Unit] = {
      val all  = on.flatMap(e => Application.this.executors.get(e.id))
      val done = Promise[Unit]()
      var left = all.size
      all.foreach { executor =>
        executor
          .run("open-end")(executor.engine.endpoint.open(name, session))
          .onComplete { result =>
            result.foreach(why => opened(Right(why)))
            left -= 1
            if (left == 0) done.trySuccess(()): Unit
          }(ExecutionContext.parasitic)
      }
      // Executors that are gone never answer.
      scheduler.schedule(30.seconds.toNanos)(done.tryFailure(new IllegalStateException("the job failed")): Unit)
      done.future
    }
  }

  private object Host extends QueryHost {
    override def queryId: Option[String]                    = Some("7f0e2c7e-6a0a-4d3c-9f5e-000000000001")
    override def interval: Option[FiniteDuration]           = world.settings.trigger.filter(_ >= 1.second)
    override def shuffleTasks: Int                          = 0
    override def isAlone: Boolean                           = true
    override def callers: Option[RunningQuery.Callers]      = None
    override def hasLostCheckpoint: Boolean                 = false
    override def readerMemory(options: SourceOptions): Long = 64L << 20
    override def channel(source: String, driver: DriverRuntime): ExecutorChannel =
      new ClusterChannel(SimulatedCluster, source, driver)
    override def show(group: String, gauges: Map[String, () => Long]): AutoCloseable = () => ()
  }

  /** Ends with the application. A failure of the query is one of the simulation, unless it is Spark's own. */
  private def query(): Unit = while (isAlive)
    try runOnce()
    catch {
      case failure: TaskFailed if failure.isOfSpark =>
        driver.log(s"the query ends with $failure, and is started again")
        driver.runtime.waits.sleep(2.seconds)
      case RestartRequested =>
        driver.log("the query is stopped and started again")
      case NonFatal(failure) => baton.fail(new SimulationFailure(s"the query failed: $failure", Some(failure)))
    }

  private var restart = false

  /** The query is stopped between two steps, and started again in the same application. */
  def restartQuery(): Unit = restart = true

  private def runOnce(): Unit = {
    val stream = new KinesisMicroBatchStream(options, Host, ownRuntime)
    try new Batches(stream).run()
    finally stream.stop()
  }

  /** As Spark's MicroBatchExecution: the last batch that was logged comes again unless it was committed. */
  private final class Batches(stream: KinesisMicroBatchStream) {
    private val checkpoint = world.checkpoint

    def run(): Unit = {
      if (checkpoint.planned.size > checkpoint.committed) execute(checkpoint.committed)
      while (isAlive) {
        failIfRestarted()
        val began = driver.runtime.clock.nanos()
        if (plan()) execute(checkpoint.committed)
        else driver.runtime.waits.sleep(10.millis)
        world.settings.trigger.foreach { interval =>
          val left = interval.toNanos - (driver.runtime.clock.nanos() - began)
          if (left > 0) driver.runtime.waits.sleep(left.nanos)
        }
      }
    }

    private def failIfRestarted(): Unit = if (restart) {
      restart = false
      throw RestartRequested
    }

    private def offset(batch: Int): Offset =
      if (batch < 0) stream.initialOffset() else stream.deserializeOffset(checkpoint.planned(batch))

    private def plan(): Boolean = {
      val batch = checkpoint.committed
      val start = offset(batch - 1)
      val end   = stream.latestOffset(start, stream.getDefaultReadLimit)
      val isNew = end.json != start.json
      if (isNew) {
        checkpoint.plan(batch, end.json)
        driver.log(s"batch $batch is logged")
        world.planned(batch)
        if (batch > 0) stream.commit(offset(batch - 1))
      }
      isNew
    }

    private def execute(batch: Int): Unit = {
      val (start, end) = (offset(batch - 1), offset(batch))
      val partitions   = stream.planInputPartitions(start, end).toVector
      val again        = stream.planInputPartitions(start, end).toVector
      if (partitions != again)
        baton.fail(new SimulationFailure(s"batch $batch was planned twice, and differently", None))
      val factory = stream.createReaderFactory().asInstanceOf[KinesisPartitionReaderFactory]
      val rows    = results(partitions.map(taskOf(_, factory)))
      world.read(batch, partitions.flatMap(rangesOf), rows)
      failIfRestarted()
      checkpoint.commit(batch)
      driver.log(s"batch $batch is committed, with ${rows.size} records")
      world.committed(batch, rows)
    }

    private def rangesOf(partition: InputPartition): Vector[ShardRange] = partition match {
      case ours: KinesisInputPartition => ours.ranges
      case other                       => throw new IllegalArgumentException(other.toString)
    }

    private def taskOf(partition: InputPartition, factory: KinesisPartitionReaderFactory) = partition match {
      case ours: KinesisInputPartition => new Task(ours, factory)
      case other                       => throw new IllegalArgumentException(other.toString)
    }

    private def results(tasks: Vector[Task]): Vector[Row] = tasks.flatMap(_.result())
  }

  /** One task, with its attempts. They run near their readers mostly. */
  private final class Task(partition: KinesisInputPartition, factory: KinesisPartitionReaderFactory) {
    private val done     = Promise[Vector[Row]]()
    private var failures = 0

    attempt()
    if (baton.chance(world.settings.speculation)) attempt()

    private def attempt(): Unit = {
      val all  = living
      val near = all.filter(e => partition.locations.contains(e.executor.location))
      val on   = if (near.nonEmpty && !baton.chance(world.settings.wrongExecutor)) near else all
      if (on.isEmpty) {
        val _ = scheduler.schedule(500.millis.toNanos)(attempt())
      } else
        baton
          .pick(on)
          .read(partition, factory)
          .onComplete {
            case Success(rows) =>
              world.readBy(partition.ranges, rows)
              done.trySuccess(rows): Unit
            case Failure(ExecutorLost) => attempt()
            case Failure(cause)        =>
              failures += 1
              driver.log(s"a task fails: $cause")
              if (failures < 4) attempt() else done.tryFailure(new TaskFailed(cause)): Unit
          }(ExecutionContext.parasitic)
    }

    def result(): Vector[Row] = {
      while (!done.isCompleted) driver.runtime.waits.isDone(done.future, 1.minute)
      done.future.value.get.get
    }
  }
}

object Application {
  private val Slots = 2

  private case object ExecutorLost extends Exception("the executor is lost", null, false, false)

  /** Of the query's own code in a task. */
  private case object OwnFailure extends Exception("a task's own failure", null, false, false)

  private final class TaskFailed(cause: Throwable) extends Exception(s"a task failed four times: $cause", cause) {
    def isOfSpark: Boolean = cause eq OwnFailure
  }

  private case object RestartRequested extends Exception("restart", null, false, false)
}
