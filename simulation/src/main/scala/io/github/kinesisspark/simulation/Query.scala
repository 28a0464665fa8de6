package io.github.kinesisspark.simulation

import java.util.concurrent.ExecutionException

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Promise}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.kinesisspark.RunningQuery
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{ShardKey, ShardRange}
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

  private var settings = ledger.run
  private var restart  = false
  private var leaves   = false
  private var isOver   = false
  private var hasLost  = false
  private var serves   = false
  private var now      = Phase.Starting: Phase
  private var thread   = Option.empty[Baton#Strand]
  private var planned  = false
  private var late     = 0
  private var progress = Progress.over(driver.runtime.waits)
  private var sources  = Vector.empty[String]
  private val running  = mutable.LinkedHashSet.empty[Application.Attempt]

  def name: String      = ledger.query.name
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

  def isWaitedFor: Boolean = progress.isWaitedFor

  /** As a program calls it, on a thread of its own. When it returns, all is delivered that was there before. Not so where the run has ended, also by itself
    * with what was there when it began, and where Spark returns with the first batch of real-time mode, whatever that has read.
    */
  def processAllAvailable(): Unit = {
    val at      = now
    val there   = ledger.sources.map(_.acknowledged)
    val trigger = settings.trigger
    val isFirst = ledger.checkpoint.committed == 0 && trigger.isInstanceOf[Trigger.RealTime]
    val isSo    = progress.processAllAvailable() && !trigger.ends && !isFirst
    world.coverage.happened(at.toString, s"processAllAvailable ${if (isSo) "returns" else "ends with the run"}")
    if (isSo) world.check {
      for ((source, some) <- ledger.sources.zip(there))
        source.has(some, "processAllAvailable() returns, and", "there when it was called")
    }
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
          baton.fail(new SimulationFailure(s"$name failed: $failure", Some(failure)))
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
    case Some(cause) if cause.errorClass == "KINESIS_TOO_FEW_CORES" => late >= LateBatches
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

  private def log(what: String): Unit = driver.log(s"$name $what")

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
    late = 0
    progress = new Progress(driver.runtime.waits)
    val since             = world.serviceTime
    val (begins, changes) = ledger.nextRun()
    var streams           = Vector.empty[KinesisRealTimeStream]
    settings = begins
    if (changes.nonEmpty) log(s"begins with ${changes.mkString(", ")}")
    changes.foreach(world.changed(ledger, _))
    try {
      ledger.query.sources.foreach { source =>
        streams :+= new KinesisRealTimeStream(world.options(source, settings), Host, runtime)
      }
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
      progress.end()
      streams.foreach(_.stop())
    }
  }

  private object Host extends QueryHost {
    override def queryId: Option[String] = Some(
      s"7f0e2c7e-6a0a-4d3c-9f5e-0000000000${name.length}${world.numberOf(ledger)}"
    )
    override def interval: Option[FiniteDuration] = settings.trigger match {
      case Trigger.Continuous(interval) => interval.filter(_ >= 1.second)
      case Trigger.RealTime(length)     => Some(length)
      case _                            => None
    }
    override def shuffleTasks: Int                     = 0
    override def isAlone: Boolean                      = ledger.query.sources.size == 1
    override def callers: Option[RunningQuery.Callers] = {
      val its = progress
      Some(new RunningQuery.Callers(() => its.showsCallers))
    }
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
      if (isAlive) ledger.sources.zip(there).foreach { case (source, some) =>
        source.has(some, "a run ends and", "there when it began")
      }

    private def step(limit: KinesisStream => ReadLimit): Boolean = {
      now = Phase.Planning
      val end = progress.locked {
        val next = streams.zip(start).map { case (stream, from) => stream.latestOffset(from, limit(stream)) }
        planned = true
        val isNew = next.map(_.json) != start.map(_.json)
        if (isNew) log(next, isRealTime = false)
        progress.planned(isNew)
        Option.when(isNew)(next)
      }
      end.foreach(execute)
      end.isDefined
    }

    private def log(end: Vector[Offset], isRealTime: Boolean): Unit = {
      write()
      checkpoint.plan(batch, end.map(_.json), isRealTime)
      for ((source, (from, to)) <- ledger.sources.zip(start.zip(end)))
        source.planned(from.json, to.json, since, isRealTime)
      now = Phase.Logged
      write()
      Query.this.log(s"batch $batch is logged")
      if (batch > 0) streams.zip(start).foreach { case (stream, from) => stream.commit(from) }
    }

    private def execute(end: Vector[Offset]): Unit = {
      now = Phase.Running
      val wanted   = limits()
      val isAtOnce = wanted.size > 1 && baton.chance(0.5)
      if (wanted.size > 1) {
        val what = wanted.map(_.fold("all")(_ => "some")).mkString(if (isAtOnce) " and " else ", then ")
        world.coverage.happened(now.toString, s"batch is read twice: $what")
      }
      val begun = wanted.map { limit =>
        val action = new Action(end, limit)
        if (!isAtOnce) action.await()
        action
      }
      val rows = begun.flatMap(_.rows()).last
      now = Phase.Committing
      failIfStopped()
      commit(end, rows)
    }

    /** Of each action on the batch, how many rows its tasks take: all where nothing is said. At least one takes all. */
    private def limits(): Vector[Option[Int]] =
      if (!baton.chance(world.settings.actions)) Vector(None)
      else {
        val other = Option.when(baton.chance(0.6))(baton.between(0, 20).toInt)
        if (baton.chance(0.5)) Vector(other, None) else Vector(None, other)
      }

    /** An action on the batch that runs, as foreachBatch may have several. Its tasks run from now on. */
    private final class Action(end: Vector[Offset], limit: Option[Int]) {
      private val tasks =
        for (((stream, source), (from, to)) <- streams.zip(ledger.sources).zip(start.zip(end))) yield {
          val its = if (from.json == to.json) Vector.empty else tasksOf(stream, from, to)
          its.map { case (partition, factory) => new Task(partition, factory, batch, source, limit) }
        }

      def await(): Unit = tasks.foreach(_.foreach(_.result(): Unit))

      /** What it has read, where it takes all. */
      def rows(): Option[Vector[Vector[Row]]] = {
        val read = tasks.map(_.flatMap(_.result()))
        if (limit.isEmpty && isPlanned(end))
          for (((source, its), i) <- ledger.sources.zip(tasks).zipWithIndex if its.nonEmpty)
            source.ran(batch, start(i).json, end(i).json, its.flatMap(_.ranges), read(i), isRealTime = false)
        Option.when(limit.isEmpty)(read)
      }
    }

    /** Not so where another driver, in real-time mode, has begun the batch anew. */
    private def isPlanned(end: Vector[Offset]) = checkpoint.planned.lift(batch).contains(end.map(_.json))

    /** A file takes its time. */
    private def write(): Unit = driver.runtime.waits.sleep(baton.between(1, 100).millis)

    private def commit(end: Vector[Offset], rows: Vector[Vector[Row]]): Unit = {
      write()
      checkpoint.commit(batch, end.map(_.json))
      Query.this.log(s"batch $batch is committed, with ${rows.map(_.size).sum} records")
      val isRealTime = checkpoint.isRealTime(batch)
      ledger.sources.zip(rows).foreach { case (source, some) => source.committed(batch, some, isRealTime) }
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
      ledger.sources.foreach(_.forget(batch))
      while (isAlive) {
        failIfStopped()
        now = Phase.Planning
        progress.locked {
          streams.zip(start).foreach { case (stream, from) => stream.latestOffset(from, stream.getDefaultReadLimit) }
          progress.planned(isNew = true)
        }
        val partitions = streams.zip(start).map { case (stream, from) => stream.planInputPartitions(from).toVector }
        // By the driver's wall clock; tasks compare their own with it.
        val until = driver.runtime.clock.millis() + length.toMillis
        now = Phase.Running
        val done = streams
          .zip(partitions)
          .map { case (stream, its) => its.map(new RealTimeTask(StreamInside.config(stream), _, until)) }
          .map(_.map(_.result()))
        if (done.exists(_.exists(_.isLate))) late += 1
        progress.locked(endInRealTime(partitions, done))
        // Spark reports the batch's progress before it takes the lock again.
        driver.runtime.waits.sleep(baton.between(1, 10).millis)
      }
    }

    private def endInRealTime(
        partitions: Vector[Vector[InputPartition]],
        done: Vector[Vector[Application.Followed]]
    ): Unit = {
      val end    = streams.zip(done).map { case (stream, its) => stream.mergeOffsets(its.map(_.offset).toArray) }
      val rows   = done.map(_.flatMap(_.rows))
      val ranges = partitions.zip(done).map { case (its, results) =>
        its.zip(results).flatMap { case (partition, result) => TaskOfBatch.ranges(partition, result.offset) }
      }
      // All is written when the batch is over.
      log(end, isRealTime = true)
      if (isPlanned(end))
        for ((source, i) <- ledger.sources.zipWithIndex)
          source.ran(batch, start(i).json, end(i).json, ranges(i), rows(i), isRealTime = true)
      now = Phase.Committing
      // Spark answers who waits with the first batch, whatever that has read.
      if (batch == 0 || end.map(_.json) == start.map(_.json)) progress.planned(isNew = false)
      commit(end, rows)
    }
  }

  /** One task, with its attempts. They run near their readers mostly.
    *
    * @param limit rows that are wanted, where not all are
    */
  private final class Task(
      partition: KinesisInputPartition,
      factory: KinesisPartitionReaderFactory,
      batch: Int,
      source: SourceLedger,
      limit: Option[Int]
  ) {
    private val sink     = settings.sink
    private val done     = Promise[Vector[Row]]()
    private val attempts = mutable.ArrayBuffer.empty[Application.Attempt]
    private var failures = 0

    attempt()
    if (baton.chance(world.settings.speculation)) attempt()

    def ranges: Vector[ShardRange] = partition.ranges

    private def attempt(): Unit = {
      val attempt = new Application.Attempt
      attempts += attempt
      running += attempt
      application.submit(attempt, partition.preferredLocations().toVector) { executor =>
        if (attempts.size > 1) world.happened(executor.process, ranges.map(_.shard), "task begins again")
        val sent = Application.TaskSent(partition, factory, batch, world.nextAttempt(), limit)
        executor
          .read(attempt, sent, sink)
          .onComplete(ended(attempt) {
            case Success(result) =>
              world.check {
                if (limit.isEmpty) source.readBy(ranges, result.rows) else source.readInPart(ranges, result.rows)
                sink.foreach(world.written(sent.attempt, result.rows, result.doubled, _))
              }
              succeed(result.rows)
            case Failure(Application.ExecutorLost | Application.Killed) => if (!done.isCompleted) this.attempt()
            case Failure(cause)                                         =>
              failures += 1
              log(s"a task fails: $cause")
              if (failures < 4) this.attempt() else done.tryFailure(new TaskFailed(cause)): Unit
          })(ExecutionContext.parasitic)
      }
    }

    /** Spark kills the other attempts. */
    private def succeed(rows: Vector[Row]): Unit = if (done.trySuccess(rows)) {
      val others = attempts.filter(running)
      running --= others
      others.foreach(_.kill())
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

  /** One task of a real-time batch, whose attempts begin where the batch does.
    *
    * @param until when they end, by the wall clock of their executor
    */
  private final class RealTimeTask(config: ReaderConfig, partition: InputPartition, until: Long) {
    private val done     = Promise[Application.Followed]()
    private var failures = 0

    attempt()

    private def attempt(): Unit = {
      val attempt = new Application.Attempt
      running += attempt
      application.submit(attempt, partition.preferredLocations().toVector) { executor =>
        executor
          .follow(attempt, config, partition, until)
          .onComplete(ended(attempt) {
            case Success(result)                                        => done.trySuccess(result): Unit
            case Failure(Application.ExecutorLost | Application.Killed) => this.attempt()
            case Failure(cause)                                         =>
              failures += 1
              log(s"a task fails: $cause")
              if (failures < 4) this.attempt() else done.tryFailure(new TaskFailed(cause)): Unit
          })(ExecutionContext.parasitic)
      }
    }

    def result(): Application.Followed = {
      while (!done.isCompleted) driver.runtime.waits.isDone(done.future, 1.minute)
      done.future.value.get.get
    }
  }
}

object Query {

  /** Real-time batches with tasks that began too late, after which a query may fail. */
  private val LateBatches = 3

  private final class TaskFailed(cause: Throwable) extends Exception(s"a task failed: $cause", cause) {
    def isOfSpark: Boolean = cause eq Application.OwnFailure
  }

  private case object RestartRequested extends Exception("restart", null, false, false)
  private case object Left             extends Exception("stop", null, false, false)
}
