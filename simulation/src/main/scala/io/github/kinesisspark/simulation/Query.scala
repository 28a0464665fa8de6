package io.github.kinesisspark.simulation

import java.util.concurrent.ExecutionException

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Promise}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.kinesisspark.RunningQuery
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{Offset, PartitionOffset, ReadLimit}

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.coordinator.{ClusterChannel, DriverRuntime, ExecutorChannel}
import io.github.kinesisspark.read.reader.ReaderConfig
import io.github.kinesisspark.read.realtime.{KinesisRealTimeStream, RealTimeTask => TaskOfBatch}
import io.github.kinesisspark.read.stream.{KinesisStream, QueryHost, StreamInside}
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}

/** One streaming query in one application, as Spark's MicroBatchExecution has it: what it logs, and the order of its calls.
  *
  * It leaves out: stages, shuffles, watermarks, checkpoints that can't be written.
  */
final class Query(world: World, application: Application, ledger: Ledger, runtime: DriverRuntime) {
  import Query._
  import application.driver
  import world.baton

  private val settings = ledger.query
  private var restart  = false
  private var leaves   = false
  private var isOver   = false
  private var hasLost  = false
  private var serves   = false
  private var now      = Phase.Starting: Phase
  private var thread   = Option.empty[Baton#Strand]
  private var planned  = false
  private var sources  = Vector.empty[String]
  private val running  = mutable.LinkedHashSet.empty[Application.Attempt]

  def name: String      = settings.name
  def phase: Phase      = now
  def hasEnded: Boolean = isOver
  def of: Ledger        = ledger

  /** The id of its source, where that is one. */
  def source: Option[String] = Option.when(sources.size == 1)(sources.head)

  /** Whether a source is its. */
  def reads(source: String): Boolean = sources.contains(source)

  /** Whether a planning has ended since this was asked last: one that is not over may have found no executor when it began. */
  def hasPlanned(): Boolean = {
    val has = planned
    planned = false
    has
  }

  /** It is stopped, and started again in the same application. */
  def restartSoon(): Unit = {
    restart = true
    interrupt()
  }

  /** It is stopped, and not started again. */
  def stop(): Unit = {
    leaves = true
    interrupt()
  }

  /** It is stopped for good, whatever is left to read. */
  def leave(): Unit = {
    ledger.hasEnded = true
    serves = world.serves(driver)
    stop()
  }

  /** As Spark stops a query: its tasks are killed, and its thread is interrupted. */
  private def interrupt(): Unit = if (now != Phase.Stopping) {
    running.foreach(_.kill())
    running.clear()
    thread.foreach(_.interrupted())
  }

  private[simulation] def start(): Unit = thread = Some(driver.begin(s"query-$name")(run()))

  private def isAlive = application.isAlive && !leaves && !isOver

  /** On its own thread, until the application ends. A failure of the query is one of the simulation, unless it is Spark's own or has to be. */
  private def run(): Unit = {
    while (isAlive)
      try {
        runOnce()
        pause(2.seconds)
      } catch {
        case failure if (restart || leaves) && isInterrupt(failure) => stopped()
        case failure: TaskFailed if failure.isOfSpark               =>
          log(s"ends with $failure, and is started again")
          rest(2.seconds)
        case RestartRequested => stopped()
        case Checkpoint.Lost  =>
          log("has lost its checkpoint to another driver")
          isOver = true
        case Left                                  => ()
        case NonFatal(failure) if isRight(failure) =>
          log(s"ends as it should: $failure")
          rest(10.seconds)
        case NonFatal(failure) =>
          baton.fail(new SimulationFailure(s"${settings.name} failed: $failure", Some(failure)))
      }
    isOver = true
    if (serves && world.serves(driver)) ledger.leftAt = Some(world.serviceTime)
    now = Phase.Stopping
    application.ended()
  }

  private def stopped(): Unit = {
    restart = false
    if (!leaves) log("is stopped and started again")
  }

  /** As Spark has it. */
  private def isInterrupt(failure: Throwable): Boolean = failure match {
    case _: InterruptedException     => true
    case wrapped: ExecutionException => isInterrupt(wrapped.getCause)
    case _                           => false
  }

  /** Whether it has to fail. */
  private def isRight(failure: Throwable): Boolean = reasonOf(failure) match {
    case Some(cause)
        if cause.errorClass == "KINESIS_DATA_LOSS" &&
          (ledger.sources.exists(_.excuses(cause.getMessage)) || isLikely(cause)) =>
      ledger.hasEnded = true
      true
    // Another driver or query is the consumer's owner.
    case Some(cause) => cause.reason == FailureReason.ConsumerTaken && world.hasRivalOf(ledger)
    case None        => false
  }

  /** After a pause that retention was shorter than, nothing shows whether there were records. */
  private def isLikely(loss: KinesisException) =
    world.settings.kinesis.oldRecords > 0 && loss.getMessage.contains("is likely")

  private def reasonOf(failure: Throwable): Option[KinesisException] = Iterator
    .iterate(failure)(_.getCause)
    .takeWhile(_ != null)
    .collectFirst { case ours: KinesisException => ours }

  private def log(what: String): Unit = driver.log(s"${settings.name} $what")

  private def pause(time: FiniteDuration): Unit = {
    now = Phase.Waiting
    driver.runtime.waits.sleep(time)
  }

  /** After a failure. */
  private def rest(time: FiniteDuration): Unit =
    try pause(time)
    catch { case _: InterruptedException => stopped() }

  private def failIfStopped(): Unit = {
    if (leaves) throw Left
    if (restart) throw RestartRequested
  }

  private def runOnce(): Unit = {
    now = Phase.Starting
    hasLost = false
    val since   = world.serviceTime
    var streams = Vector.empty[KinesisRealTimeStream]
    try {
      settings.sources.foreach(s => streams :+= new KinesisRealTimeStream(world.options(s), Host, runtime))
      sources = streams.map(StreamInside.config(_).sourceId)
      val run = new Run(streams, since)
      settings.trigger match {
        case Trigger.Continuous(interval) => run.continuously(interval)
        case Trigger.AvailableNow(wait)   =>
          run.untilNothingIsNew()
          pause(wait)
        case Trigger.Once(wait) =>
          run.once()
          pause(wait)
        case Trigger.RealTime(length) => run.inRealTime(length)
      }
    } catch {
      case Checkpoint.Lost =>
        hasLost = true
        throw Checkpoint.Lost
    } finally {
      now = Phase.Stopping
      streams.foreach(_.stop())
    }
  }

  private object Host extends QueryHost {
    override def queryId: Option[String] = Some(
      s"7f0e2c7e-6a0a-4d3c-9f5e-0000000000${settings.name.length}${world.numberOf(ledger)}"
    )
    override def interval: Option[FiniteDuration] = settings.trigger match {
      case Trigger.Continuous(interval) => interval.filter(_ >= 1.second)
      case Trigger.RealTime(length)     => Some(length)
      case _                            => None
    }
    override def shuffleTasks: Int                                               = 0
    override def isAlone: Boolean                                                = settings.sources.size == 1
    override def callers: Option[RunningQuery.Callers]                           = None
    override def hasLostCheckpoint: Boolean                                      = hasLost
    override def leavesOffsetsOut: Boolean                                       = false
    override def readerMemory(options: SourceOptions): Long                      = settings.memory
    override def channel(source: String, driver: DriverRuntime): ExecutorChannel =
      new ClusterChannel(application.cluster, source, driver)
    override def show(group: String, gauges: Map[String, () => Long]): AutoCloseable = () => ()
  }

  /** One run of the query: the last batch that was logged comes again unless it was committed.
    *
    * @param since when it began, by the service's clock
    */
  private final class Run(streams: Vector[KinesisRealTimeStream], since: Long) {
    private val checkpoint = ledger.checkpoint
    private var batch      = checkpoint.committed
    private var start      = offsets(batch - 1)

    private def offsets(batch: Int): Vector[Offset] =
      if (batch < 0) streams.map(_.initialOffset())
      else streams.zip(checkpoint.planned(batch)).map { case (stream, json) => stream.deserializeOffset(json) }

    /** One that was logged by a run before. */
    private def runAgain(): Boolean = {
      val isThere = checkpoint.planned.size > batch
      if (isThere) execute(offsets(batch))
      isThere
    }

    def continuously(interval: Option[FiniteDuration]): Unit = {
      runAgain()
      while (isAlive) {
        failIfStopped()
        val began = driver.runtime.clock.nanos()
        if (!step(_.getDefaultReadLimit)) pause(10.millis)
        interval.foreach { length =>
          val left = length.toNanos - (driver.runtime.clock.nanos() - began)
          if (left > 0) pause(left.nanos)
        }
      }
    }

    def untilNothingIsNew(): Unit = {
      streams.foreach(_.prepareForTriggerAvailableNow())
      runAgain()
      val there   = ledger.sources.map(_.there)
      var isGoing = true
      while (isAlive && isGoing) {
        isGoing = step(_.getDefaultReadLimit)
        failIfStopped()
      }
      checkRead(there)
    }

    def once(): Unit = if (!runAgain()) {
      // The children of what ends in its batch are for the next run.
      val there = ledger.sources.zip(start).map { case (source, from) => source.thereOf(from.json) }
      step(_ => ReadLimit.allAvailable()): Unit
      checkRead(there)
    }

    private def checkRead(there: Vector[Map[ShardKey, Int]]): Unit =
      if (isAlive) ledger.sources.zip(there).foreach { case (source, some) => source.ended(some) }

    private def step(limit: KinesisStream => ReadLimit): Boolean = {
      now = Phase.Planning
      val end = streams.zip(start).map { case (stream, from) => stream.latestOffset(from, limit(stream)) }
      planned = true
      val isNew = end.map(_.json) != start.map(_.json)
      if (isNew) {
        log(end)
        execute(end)
      }
      isNew
    }

    private def log(end: Vector[Offset]): Unit = {
      write()
      checkpoint.plan(batch, end.map(_.json))
      for ((source, (from, to)) <- ledger.sources.zip(start.zip(end))) source.planned(from.json, to.json, since)
      now = Phase.Logged
      write()
      Query.this.log(s"batch $batch is logged")
      if (batch > 0) streams.zip(start).foreach { case (stream, from) => stream.commit(from) }
    }

    private def execute(end: Vector[Offset]): Unit = {
      val tasks = streams.zip(start.zip(end)).map { case (stream, (from, to)) =>
        if (from.json == to.json) Vector.empty else tasksOf(stream, from, to)
      }
      now = Phase.Running
      val rows = tasks
        .zip(ledger.sources)
        .map { case (its, source) =>
          its.map(partition => new Task(partition._1, partition._2, batch, source))
        }
        .map(_.flatMap(_.result()))
      for ((source, i) <- ledger.sources.zipWithIndex if tasks(i).nonEmpty)
        source.ran(batch, start(i).json, end(i).json, tasks(i).flatMap(_._1.ranges), rows(i))
      now = Phase.Committing
      failIfStopped()
      commit(end, rows)
    }

    /** A file takes its time. */
    private def write(): Unit = driver.runtime.waits.sleep(baton.between(1, 100).millis)

    private def commit(end: Vector[Offset], rows: Vector[Vector[Row]]): Unit = {
      write()
      checkpoint.commit(batch, end.map(_.json))
      Query.this.log(s"batch $batch is committed, with ${rows.map(_.size).sum} records")
      ledger.sources.zip(rows).foreach { case (source, some) => source.committed(batch, some) }
      start = end
      batch += 1
    }

    private def tasksOf(stream: KinesisRealTimeStream, from: Offset, to: Offset) = {
      val partitions = stream.planInputPartitions(from, to).toVector
      if (partitions != stream.planInputPartitions(from, to).toVector)
        baton.fail(new SimulationFailure(s"batch $batch was planned twice, and differently", None))
      val factory = stream.createReaderFactory().asInstanceOf[KinesisPartitionReaderFactory]
      partitions.map {
        case ours: KinesisInputPartition => (ours, factory)
        case other                       => throw new IllegalArgumentException(other.toString)
      }
    }

    def inRealTime(length: FiniteDuration): Unit = {
      streams.foreach(_.prepareForRealTimeMode())
      // As Spark does.
      checkpoint.deleteUncommitted()
      while (isAlive) {
        failIfStopped()
        now = Phase.Planning
        streams.zip(start).foreach { case (stream, from) => stream.latestOffset(from, stream.getDefaultReadLimit) }
        val partitions = streams.zip(start).map { case (stream, from) => stream.planInputPartitions(from).toVector }
        now = Phase.Running
        val done = streams
          .zip(partitions)
          .map { case (stream, its) =>
            its.map(new RealTimeTask(StreamInside.config(stream), _, length))
          }
          .map(_.map(_.result()))
        val end    = streams.zip(done).map { case (stream, its) => stream.mergeOffsets(its.map(_._2).toArray) }
        val rows   = done.map(_.flatMap(_._1))
        val ranges = partitions.zip(done).map { case (its, results) =>
          its.zip(results).flatMap { case (partition, result) => TaskOfBatch.ranges(partition, result._2) }
        }
        // All is written when the batch is over.
        log(end)
        for ((source, i) <- ledger.sources.zipWithIndex)
          source.ran(batch, start(i).json, end(i).json, ranges(i), rows(i))
        now = Phase.Committing
        commit(end, rows)
      }
    }
  }

  /** One task, with its attempts. They run near their readers mostly. */
  private final class Task(
      partition: KinesisInputPartition,
      factory: KinesisPartitionReaderFactory,
      batch: Int,
      source: SourceLedger
  ) {
    private val done     = Promise[Vector[Row]]()
    private var failures = 0

    attempt()
    if (baton.chance(world.settings.speculation)) attempt()

    private def attempt(): Unit = {
      val attempt = new Application.Attempt
      running += attempt
      application.submit(attempt, partition.preferredLocations().toVector) { executor =>
        val sent = Application.TaskSent(partition, factory, batch, world.nextAttempt())
        executor
          .read(attempt, sent, settings.sink)
          .onComplete(ended(attempt) {
            case Success(result) =>
              world.check {
                source.readBy(partition.ranges, result.rows)
                settings.sink.foreach(world.written(sent.attempt, result.rows, result.doubled, _))
              }
              done.trySuccess(result.rows): Unit
            case Failure(Application.ExecutorLost) => if (!done.isCompleted) this.attempt()
            case Failure(cause)                    =>
              failures += 1
              log(s"a task fails: $cause")
              if (failures < 4) this.attempt() else done.tryFailure(new TaskFailed(cause)): Unit
          })(ExecutionContext.parasitic)
      }
    }

    def result(): Vector[Row] = {
      while (!done.isCompleted) driver.runtime.waits.isDone(done.future, 1.minute)
      done.future.value.get.get
    }
  }

  /** What a killed attempt ends with is nobody's business. */
  private def ended[A](attempt: Application.Attempt)(settle: Try[A] => Unit): Try[A] => Unit = { result =>
    running -= attempt
    if (!attempt.isKilled || result.isSuccess) settle(result)
  }

  /** One task of a real-time batch, whose attempts begin where the batch does. */
  private final class RealTimeTask(config: ReaderConfig, partition: InputPartition, length: FiniteDuration) {
    private val done     = Promise[(Vector[Row], PartitionOffset)]()
    private var failures = 0

    attempt()

    private def attempt(): Unit = {
      val attempt = new Application.Attempt
      running += attempt
      application.submit(attempt, partition.preferredLocations().toVector) { executor =>
        executor
          .follow(attempt, config, partition, length)
          .onComplete(ended(attempt) {
            case Success(result)                   => done.trySuccess(result): Unit
            case Failure(Application.ExecutorLost) => this.attempt()
            case Failure(cause)                    =>
              failures += 1
              log(s"a task fails: $cause")
              if (failures < 4) this.attempt() else done.tryFailure(new TaskFailed(cause)): Unit
          })(ExecutionContext.parasitic)
      }
    }

    def result(): (Vector[Row], PartitionOffset) = {
      while (!done.isCompleted) driver.runtime.waits.isDone(done.future, 1.minute)
      done.future.value.get.get
    }
  }
}

object Query {
  private final class TaskFailed(cause: Throwable) extends Exception(s"a task failed: $cause", cause) {
    def isOfSpark: Boolean = cause eq Application.OwnFailure
  }

  private case object RestartRequested extends Exception("restart", null, false, false)
  private case object Left             extends Exception("stop", null, false, false)
}
