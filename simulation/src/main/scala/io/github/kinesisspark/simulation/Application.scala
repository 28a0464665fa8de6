package io.github.kinesisspark.simulation

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.concurrent.duration._
import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.unsafe.types.UTF8String

import io.github.kinesisspark.config.SinkOptions
import io.github.kinesisspark.jar.WireFormat
import io.github.kinesisspark.position.ShardKey
import io.github.kinesisspark.read.coordinator._
import io.github.kinesisspark.read.coordinator.ExecutorHealth.ExecutorState
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReaderConfig, ReadersInside}
import io.github.kinesisspark.read.realtime.RealTimeTask
import io.github.kinesisspark.read.task.{KinesisInputPartition, KinesisPartitionReaderFactory}
import io.github.kinesisspark.write.SinkTask

/** One Spark application: a driver with its queries, and executors. The model of Spark's scheduler: tasks wait for a slot, are retried, speculated on, and
  * run on other executors than they were planned for; executors come and go.
  */
final class Application(world: World, val number: Int, ledgers: Vector[Ledger]) {
  import Application._
  import world.{baton, network}

  private[simulation] var madeExecutors = 0
  private val slots                     = world.settings.slots

  val driver: Process    = world.process(s"driver-$number")
  private val executors  = mutable.LinkedHashMap.empty[String, Executor]
  private val ownRuntime =
    new DriverRuntime(world.clients(driver), network.of(driver), throw new IllegalStateException("not in local mode"))
  world.conversation.hasDriver(driver.name, ownRuntime)
  private var hasStopped = false

  val queries: Vector[Query] = ledgers.map(new Query(world, this, _, ownRuntime))

  // Spark's scheduler, on whose thread all comes in that executors answer.
  private val scheduler = driver.runtime.workers.fixed("scheduler", 1)

  private def inScheduler(work: => Unit): Unit = if (driver.isAlive) scheduler.execute(() => work)

  /** What the engine keeps in the driver. */
  def census: Map[String, Int] = Census.of(ownRuntime, world.clients(driver))

  def isAlive: Boolean           = driver.isAlive && !hasStopped
  def living: Vector[Executor]   = executors.values.filter(_.process.isAlive).toVector
  def processes: Vector[Process] = driver +: living.map(_.process)

  /** The queries' own threads begin. */
  def start(executorCount: Int): Unit = {
    (0 until executorCount).foreach(_ => add())
    queries.foreach(_.start())
    if (world.settings.hasCallers) queries.foreach(query => driver.begin(s"program-${query.name}")(program(query)))
  }

  /** Waits now and then until all is processed. */
  private def program(query: Query): Unit = while (world.isBusy && !query.hasEnded) {
    driver.runtime.waits.sleep(baton.between(100, 15000).millis)
    query.processAllAvailable()
  }

  /** A query has ended for good. With the last one the application ends, unless the world is about to look at what is left in it. */
  private[simulation] def ended(): Unit = {
    world.losesRival()
    if (queries.forall(_.hasEnded) && isAlive) {
      driver.log("ends")
      baton.after(3.minutes.toNanos)(if (!world.isAtEnd) kill())
    }
  }

  private[simulation] def later(time: FiniteDuration)(work: => Unit): Unit =
    scheduler.schedule(time.toNanos)(work): Unit

  // In the order they came.
  private val waiting   = mutable.ArrayBuffer.empty[Waiting]
  private var isOffered = false

  /** Begins an attempt of a task once an executor has a slot for it: near its readers, or after a while anywhere. */
  private[simulation] def submit(attempt: Attempt, locations: Vector[String])(begin: Executor => Unit): Unit = {
    waiting += new Waiting(attempt, locations, baton.chance(world.settings.wrongExecutor), begin)
    offer()
  }

  private def offer(): Unit = {
    waiting.filterInPlace(!_.attempt.isKilled)
    waiting.toVector.foreach { task =>
      task.place().foreach { executor =>
        waiting -= task
        task.begin(executor)
      }
    }
    if (waiting.nonEmpty && !isOffered) {
      isOffered = true
      later(500.millis) {
        isOffered = false
        offer()
      }
    }
  }

  private final class Waiting(
      val attempt: Attempt,
      locations: Vector[String],
      isAnywhere: Boolean,
      val begin: Executor => Unit
  ) {
    private val since = baton.now

    def place(): Option[Executor] = {
      val open   = living.filter(_.isOpen)
      val near   = open.filter(e => locations.contains(e.executor.location))
      val isLong = baton.now - since > LocalityWait.toNanos
      val free   = Seq(if (isAnywhere) Vector.empty else near, if (near.isEmpty || isAnywhere || isLong) open else near)
      free.map(_.filter(_.free > 0)).find(_.nonEmpty).map(baton.pick(_))
    }
  }

  def add(): Unit = {
    madeExecutors += 1
    val id   = madeExecutors.toString
    val made = new Executor(id, world.process(s"executor-$number.$id"))
    executors(id) = made
    world.hasReaders(made.process, made.inside)
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

  /** As dynamic allocation takes one away that has nothing to do. */
  def removeIdle(which: Int): Unit = {
    val idle = living.filter(_.free == slots)
    if (living.count(_.isOpen) > 1) idle.lift(which % idle.size.max(1)).foreach(leave(_, 1.second))
  }

  /** Gets no more tasks, and is gone after a while. */
  def leave(executor: Executor, after: FiniteDuration): Unit = if (living.count(_.isOpen) > 1) {
    executor.process.log("is to leave")
    executor.isLeaving = true
    baton.after(after.toNanos) {
      executor.process.log("leaves")
      executor.process.kill()
      executors -= executor.id
      inScheduler(executor.lost())
    }
  }

  /** Gets no tasks for a while. */
  def exclude(executor: Executor, length: FiniteDuration): Unit = if (living.count(_.isOpen) > 1) {
    executor.isExcluded = true
    baton.after(length.toNanos)(executor.isExcluded = false)
  }

  /** Its executors end when they notice. */
  def kill(): Unit = if (isAlive) {
    hasStopped = true
    driver.log("is killed")
    world.losesRival()
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
    private val engine  = new ExecutorRuntime(() => id, world.clients(process), network.of(process))
    private val sink    = new SinkTask(world.clients(process))
    val inside          = new ReadersInside(engine.pools)
    val executor        = ExecutorId(s"host-$number-$id", id)
    private val running = mutable.ArrayBuffer.empty[() => Boolean]
    private var taken   = 0

    private[simulation] var isExcluded = false
    private[simulation] var isLeaving  = false

    def free: Int       = slots - taken
    def isOpen: Boolean = !isExcluded && !isLeaving

    /** What the engine keeps here. */
    def census: Map[String, Int] = Census.of(engine, world.clients(process))

    /** What runs there answers nothing more. */
    def lost(): Unit = running.toVector.foreach(_())

    /** Runs a task's work here; its result arrives at the driver, unless the executor is lost before. */
    def run[A](name: String, attempt: Attempt)(work: => A): Future[A] = {
      val result                = Promise[A]()
      val end                   = () => result.tryFailure(ExecutorLost)
      def arrived(done: Try[A]) = {
        running -= end
        result.tryComplete(done): Unit
      }
      running += end
      attempt.goesTo(network.sendSafely(driver.name, process.name)(_))
      network.sendSafely(driver.name, process.name) {
        if (process.isAlive) attempt.runs(process.begin(name) {
          val done =
            try if (attempt.isKilled) Failure(Killed) else Success(work)
            catch {
              case NonFatal(e)             => Failure(e)
              case e: InterruptedException => Failure(e)
            }
          network.sendSafely(process.name, driver.name)(inScheduler(arrived(done)))
        })
      }
      if (!process.isAlive) inScheduler(end(): Unit)
      result.future
    }

    private def runTask[A](name: String, attempt: Attempt)(work: => A): Future[A] = {
      taken += 1
      val done = run(name, attempt)(work)
      done.onComplete { _ =>
        taken -= 1
        inScheduler(offer())
      }(ExecutionContext.parasitic)
      done
    }

    /** One attempt of a task: reads, and writes each row before it reads the next. */
    def read(attempt: Attempt, task: TaskSent, writes: Option[Map[String, String]]): Future[Done] = {
      // As Spark sends it.
      val theirs = WireFormat.read[TaskSent](WireFormat.write(task))
      runTask("task", attempt) {
        val end = theirs.limit.map(EarlyEnd.Limit(_)).orElse(world.earlyEnd())
        killable(end) {
          val reader                 = theirs.readers.readerIn(engine, theirs.partition)
          def take(use: Row => Unit) =
            rowsOf(end, theirs.partition.ranges.map(_.shard))(Option.when(reader.next())(reader.get()))(use)
          try writes.fold(Done(take(_ => ()), 0L))(writeAll(_, theirs, take))
          finally reader.close()
        }
      }
    }

    /** One attempt of a task of a real-time batch.
      *
      * @param until by the wall clock of the process that it runs in
      */
    def follow(attempt: Attempt, config: ReaderConfig, partition: InputPartition, until: Long): Future[Followed] = {
      val theirs = WireFormat.read[InputPartition](WireFormat.write(partition))
      runTask("task", attempt) {
        val end = world.earlyEnd()
        killable(end) {
          val reader  = RealTimeTask.reader(config, theirs, engine)
          var isAsked = false
          def next    = {
            val now = process.runtime.clock.millis()
            isAsked ||= now < until
            Option.when(now < until && reader.nextWithTimeout(now, until - now).hasRecord)(reader.get())
          }
          try {
            val rows = rowsOf(end, RealTimeTask.shards(theirs))(next)(_ => ())
            Followed(rows, reader.getOffset, isLate = !isAsked)
          } finally reader.close()
        }
      }
    }

    /** Takes row after row, until there is none or the attempt ends early. */
    private def rowsOf(end: Option[EarlyEnd], shards: Vector[ShardKey])(
        next: => Option[InternalRow]
    )(use: Row => Unit): Vector[Row] = {
      val rows  = Vector.newBuilder[Row]
      var count = 0
      Iterator
        .continually(if (end.exists(endsAt(_, count, shards))) None else next.map(rowOf))
        .takeWhile(_.nonEmpty)
        .flatten
        .foreach { row =>
          use(row)
          rows += row
          count += 1
          if (baton.chance(world.faults.slowRows)) process.runtime.waits.sleep(baton.between(1, 400).millis)
        }
      end.foreach {
        case _: EarlyEnd.Failure => throw OwnFailure
        case _: EarlyEnd.Kill    => throw Killed
        case _: EarlyEnd.Limit   => ()
      }
      rows.result()
    }

    /** Whether an attempt takes no more after so many rows. */
    private def endsAt(end: EarlyEnd, count: Int, shards: Vector[ShardKey]): Boolean = count == end.rows && {
      world.happened(process, shards, s"task ends: ${end.productPrefix}")
      end match {
        case EarlyEnd.Kill(_, isSeen) =>
          baton.current.interrupted()
          isSeen
        case _ => true
      }
    }

    /** Whatever an attempt ends with that Spark kills, it is killed. */
    private def killable[A](end: Option[EarlyEnd])(work: => A): A =
      try work
      catch { case _: Exception if end.exists(_.isInstanceOf[EarlyEnd.Kill]) => throw Killed }

    def openEnd(attempt: Attempt, name: String, session: String): Future[Option[String]] =
      runTask("open-end", attempt)(engine.endpoint.open(name, session))

    private def rowOf(row: InternalRow) = Row(
      row.getUTF8String(6).toString,
      row.getUTF8String(7).toString,
      BigInt(row.getUTF8String(3).toString),
      new String(row.getBinary(0).takeWhile(_ != 0))
    )

    /** @param take hands over each row that is read */
    private def writeAll(options: Map[String, String], task: TaskSent, take: (Row => Unit) => Vector[Row]): Done = {
      val writer = sink.writer(sinkOptions(options), task.batch.toLong)
      try {
        val rows = take { row =>
          val data = Target.copyOf(row, task.attempt).getBytes
          writer.write(InternalRow(data, UTF8String.fromString(Target.keyOf(row))))
        }
        writer.commit()
        Done(rows, writer.currentMetricsValues.find(_.name == "possibleDuplicates").fold(0L)(_.value))
      } catch {
        case failure: Exception =>
          writer.abort()
          throw failure
      } finally writer.close()
    }
  }

  private[simulation] object cluster extends Cluster {
    override def executors(): Vector[ExecutorState] = {
      while (Application.this.executors.isEmpty) driver.runtime.waits.sleep(100.millis)
      registered()
    }
    override def registered(): Vector[ExecutorState] =
      Application.this.executors.values.toVector.map(e => ExecutorState(e.executor, e.isExcluded, e.isLeaving, e.free))
    override def idleTimeout: Option[FiniteDuration] = Option.when(world.isElastic)(60.seconds)
    override def slots: Int         = Application.this.executors.values.count(_.isOpen) * Application.this.slots
    override def session: String    = ""
    override def isStopped: Boolean = hasStopped

    override def openEnds(name: String, session: String, on: Vector[ExecutorId])(
        opened: Either[String, Option[String]] => Unit
    ): Future[Unit] = {
      val all  = on.flatMap(e => Application.this.executors.get(e.id))
      val done = Promise[Unit]()
      var left = all.size
      all.foreach { executor =>
        val attempt = new Attempt
        submit(attempt, Vector(executor.executor.location)) {
          _.openEnd(attempt, name, session)
            .onComplete { result =>
              result.foreach(why => opened(Right(why)))
              left -= 1
              if (left == 0) done.trySuccess(()): Unit
            }(ExecutionContext.parasitic)
        }
      }
      // Executors that are gone never answer, and Spark ends their tasks.
      later(30.seconds)(done.trySuccess(()): Unit)
      done.future
    }
  }
}

object Application {

  /** As spark.locality.wait. */
  private val LocalityWait = 3.seconds

  /** One attempt of a task, which Spark can kill, also before it has a slot. */
  private[simulation] final class Attempt {
    private var send   = Option.empty[(=> Unit) => Unit]
    private var strand = Option.empty[Baton#Strand]
    private var killed = false

    def isKilled: Boolean = killed

    def kill(): Unit = {
      killed = true
      send.foreach(_(strand.foreach(_.interrupted())))
    }

    /** @param send to the executor that it runs on */
    private[simulation] def goesTo(send: (=> Unit) => Unit): Unit = this.send = Some(send)

    private[simulation] def runs(on: Baton#Strand): Unit = {
      strand = Some(on)
      if (killed) on.interrupted()
    }
  }

  /** @param limit rows that are wanted, where not all are */
  private[simulation] final case class TaskSent(
      partition: KinesisInputPartition,
      readers: KinesisPartitionReaderFactory,
      batch: Int,
      attempt: Long,
      limit: Option[Int]
  )

  /** @param doubled how many records may be in the sink's stream twice */
  private[simulation] final case class Done(rows: Vector[Row], doubled: Long)

  /** @param offset where the task has ended
    * @param isLate it began when its batch was over
    */
  private[simulation] final case class Followed(rows: Vector[Row], offset: PartitionOffset, isLate: Boolean)

  private def sinkOptions(more: Map[String, String]) =
    SinkOptions.parse(Map("streamName" -> Target.StreamName, "region" -> "us-east-1") ++ more)

  private[simulation] case object ExecutorLost extends Exception("the executor is lost", null, false, false)

  /** Spark has killed the attempt, which does not count as a failure. */
  private[simulation] case object Killed extends Exception("the attempt is killed", null, false, false)

  /** Of the query's own code in a task. */
  private[simulation] case object OwnFailure extends Exception("a task's own failure", null, false, false)
}
