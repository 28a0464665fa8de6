package io.github.kinesisspark.read.coordinator

import java.util.UUID
import java.util.concurrent.{Executors, ScheduledThreadPoolExecutor, TimeUnit}

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.kinesisspark.RpcChannel
import org.slf4j.LoggerFactory

import io.github.kinesisspark.{BuiltFor, ConnectorJar, FromDriver, WireFormat}
import io.github.kinesisspark.aws.DaemonThreads
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReaderReport, ReaderRequest}

/** The driver's end of the channel to the executors of one SparkContext, shared by all its queries. It closes with the SparkContext.
  *
  * Owns the executors' ends, which a small Spark job opens, and knows by a heartbeat which of them answer. Queries' threads, Spark's RPC threads
  * and the heartbeat's own all use it.
  */
private[coordinator] final class DriverEndpoint(sc: SparkContext) extends RpcChannel.Handler {
  import DriverEndpoint._

  private val name  = s"kinesis-coordinator-${UUID.randomUUID()}"
  private val pulse = new ScheduledThreadPoolExecutor(1, new DaemonThreads("kinesis-heartbeat"))

  // Reading a large report takes time that Spark's own threads don't have.
  private val reports = Executors.newSingleThreadExecutor(new DaemonThreads("kinesis-reader-reports"))

  // All below is guarded by `this`.
  private val peers      = mutable.HashMap.empty[PeerKey, Contact]
  private val sources    = mutable.LinkedHashSet.empty[String]
  private val placements = mutable.HashMap.empty[String, Placement]
  private var refused    = false
  private var wrongJar   = Option.empty[String]
  private var failure    = Option.empty[Throwable]

  private def open(): Unit = {
    RpcChannel.open(name, this)
    pulse.scheduleWithFixedDelay(() => beat(), Beat.toMillis, Beat.toMillis, TimeUnit.MILLISECONDS): Unit
  }

  /** The readers of the source live as long as this driver. */
  def keep(source: String): Unit = synchronized(sources += source): Unit

  def forget(source: String): Unit = synchronized(sources -= source): Unit

  /** Whether executors have failed to open their ends, and none has one. */
  def isRefused(session: String): Boolean = synchronized(refused && !peers.keys.exists(_.session == session))

  /** Those that answer, once there are any. Executors that haven't been tried yet get their ends opened, and others again from time
    * to time.
    *
    * @throws java.lang.IllegalArgumentException if an executor has another version of this JAR
    */
  def answering(executors: Vector[ExecutorHealth.ExecutorState], session: String): Set[ExecutorId] = {
    prune(executors.iterator.map(_.id.id).toSet)
    placeIfDue(executors, session)
    synchronized {
      def have =
        executors.iterator.map(_.id).filter(e => peers.get(PeerKey(e.id, session)).exists(_.pulse.answers)).toSet
      def isPending = !isRefused(session) &&
        placements(session).isAwaited(have.size, executors.size, System.nanoTime())
      while (isPending) wait(Look.toMillis)
      wrongJar.foreach { why =>
        // The query that begins next looks again.
        wrongJar = None
        throw BuiltFor.error(why)
      }
      if (have.isEmpty && !refused && placements(session).isHopeless) failure.foreach(throw _)
      have
    }
  }

  /** Sends a request without waiting. The callback gets the answer on another thread, or nothing if the executor can't answer. */
  def tell[A](executor: ExecutorId, request: ReaderRequest[A], session: String)(done: Try[Option[A]] => Unit): Unit =
    synchronized(peers.get(PeerKey(executor.id, session))) match {
      case Some(contact) =>
        Try(contact.peer.ask(request.source, WireFormat.write(request), TellTimeout))
          .fold(Future.failed, identity)
          .onComplete {
            case Success(bytes) => readAside(bytes.length)(done(Try(Reply.read[A](bytes))))
            case Failure(e)     =>
              log.debug(s"Executor $executor gave no answer: $e")
              done(Success(None))
          }(ExecutionContext.parasitic)
      case None => done(Success(None))
    }

  /** Reads what is short at once, on a thread of Spark's. */
  private def readAside(length: Int)(read: => Unit): Unit =
    if (length <= Short) read else reports.execute(() => read)

  /** Asks all at once. Who doesn't answer within seconds has no answer; what an executor fails with is thrown. */
  def ask[A](
      requests: Vector[(ExecutorId, ReaderRequest[A])],
      session: String,
      within: FiniteDuration
  ): Vector[(ExecutorId, A)] = {
    val deadline = within.fromNow
    val asked    = for {
      (executor, request) <- requests
      contact             <- synchronized(peers.get(PeerKey(executor.id, session)))
    } yield executor -> contact.peer.ask(request.source, WireFormat.write(request), within)
    asked.flatMap { case (executor, reply) =>
      awaited(reply, deadline) match {
        case Some(Success(bytes)) => Reply.read[A](bytes).map(executor -> _)
        case other                =>
          log.debug(s"Executor ${executor.id} gave no answer: ${other.fold("in time")(_.toString)}")
          None
      }
    }
  }

  override def asked(source: String, report: Array[Byte], reply: Array[Byte] => Unit): Unit =
    reports.execute { () =>
      val isUsed =
        try ReaderReports.accept(WireFormat.read[ReaderReport](report))
        catch {
          case NonFatal(e) =>
            log.warn("A report of shard readers can't be read.", e)
            false
        }
      reply(Reply.ofReport(isUsed))
    }

  override def introduced(executor: String, session: String, peer: RpcChannel.Peer): Unit = synchronized {
    peers(PeerKey(executor, session)) = Contact(peer, Pulse.first)
    refused = false
    notifyAll()
  }

  override def stopped(): Unit = {
    pulse.shutdownNow()
    reports.shutdownNow()
    close(this)
  }

  private def prune(present: Set[String]): Unit = synchronized {
    peers.keys.filterNot(key => present(key.executor)).toVector.foreach(peers.remove)
  }

  private def beat(): Unit =
    try {
      val (due, mine) = synchronized {
        val due = peers.filter { case (_, contact) => !contact.pulse.isAsked }.toVector
        if (sources.nonEmpty) peers.mapValuesInPlace((_, contact) => contact.copy(pulse = contact.pulse.beat))
        (due, sources.toVector)
      }
      if (mine.nonEmpty) due.foreach { case (key, contact) => beat(key, contact.peer, mine) }
    } catch { case NonFatal(e) => log.warn("A heartbeat to the executors failed.", e) }

  private def beat(key: PeerKey, peer: RpcChannel.Peer, mine: Vector[String]): Unit =
    Try(peer.keepAlive(mine, System.nanoTime(), BeatTimeout))
      .fold(Future.failed, identity)
      .onComplete(result => beaten(key, peer, result.isSuccess))(ExecutionContext.parasitic)

  private def beaten(key: PeerKey, peer: RpcChannel.Peer, isAnswered: Boolean): Unit = synchronized {
    for (contact <- peers.get(key) if contact.peer eq peer)
      peers(key) = contact.copy(pulse = contact.pulse.ended(isAnswered))
  }

  private def placeIfDue(executors: Vector[ExecutorHealth.ExecutorState], session: String): Unit = synchronized {
    val placement = placements.getOrElseUpdate(session, Placement.none)
    val missing   = executors.filterNot(e => peers.contains(PeerKey(e.id.id, session)))
    // Where no task would start at once, Spark would run it elsewhere; but somebody must be reached.
    val ready = missing.filter(_.runsTasks)
    val some  = (if (ready.isEmpty && missing.size == executors.size) missing else ready).map(_.id)
    if (placement.isDue(some.toSet, System.nanoTime())) {
      placements(session) = placement.start(some.toSet, System.nanoTime())
      start(some, session).onComplete(result => placed(session, result))(ExecutionContext.parasitic)
    }
  }

  private def placed(session: String, result: Try[Unit]): Unit = synchronized {
    placements(session) = placements(session).end(result.isFailure, System.nanoTime())
    failure = result.failed.toOption
    notifyAll()
  }

  private def start(executors: Vector[ExecutorId], session: String): Future[Unit] =
    ReaderJobs.described(sc, "Kinesis: connect the executors") {
      val rdd = sc.makeRDD(executors.map(e => e.id -> Seq(e.location)))
      sc.submitJob(
        rdd,
        new OpenEnd(ConnectorJar.name, ConnectorJar.place, name, session),
        rdd.partitions.indices,
        (_: Int, opened: Either[String, Option[String]]) => opened.fold(refuseJar, _.foreach(refuse)),
        ()
      )
    }

  private def refuseJar(why: String): Unit = synchronized {
    wrongJar = Some(why)
    notifyAll()
  }

  private def refuse(why: String): Unit = synchronized {
    if (!refused)
      log.warn("An executor can't open a channel to the driver. Where none can, Spark jobs take its place: {}", why)
    refused = true
    notifyAll()
  }
}

private[coordinator] object DriverEndpoint {
  private val log     = LoggerFactory.getLogger(classOf[DriverEndpoint])
  private var current = Option.empty[(SparkContext, DriverEndpoint)]

  /** That of the SparkContext; nothing where it can't be opened. */
  def of(sc: SparkContext): Option[DriverEndpoint] = synchronized {
    current.collect { case (`sc`, endpoint) => endpoint }.orElse {
      try {
        val endpoint = new DriverEndpoint(sc)
        endpoint.open()
        current = Some(sc -> endpoint)
        Some(endpoint)
      } catch {
        case NonFatal(e) =>
          log.warn("The driver's end of the channel to the executors can't be opened; Spark jobs take its place.", e)
          None
      }
    }
  }

  private def close(endpoint: DriverEndpoint): Unit = synchronized {
    current = current.filterNot(_._2 eq endpoint)
  }

  /** @param session as [[org.apache.spark.kinesisspark.ClusterExecutors.session]]: each has readers of its own in an executor */
  private final case class PeerKey(executor: String, session: String)

  private val Beat        = 1.second
  private val BeatTimeout = 10.seconds
  private val TellTimeout = 10.seconds

  private val Look = 100.millis

  /** In bytes. Some ten shards' report. */
  private val Short = 16 << 10

  private def awaited[A](reply: Future[A], deadline: Deadline): Option[Try[A]] = {
    try scala.concurrent.Await.ready(reply, deadline.timeLeft.max(Duration.Zero)): Unit
    catch { case _: java.util.concurrent.TimeoutException => () }
    reply.value
  }
}

/** What a task does to open its executor's end. Its serialized form is the same in all versions, and an executor with another version answers why it
  * opens none, on the left. On the right: why it can't, if so.
  */
@SerialVersionUID(1L)
private[coordinator] final class OpenEnd(jar: String, place: String, driver: String, session: String)
    extends (Iterator[String] => Either[String, Option[String]])
    with Serializable {
  override def apply(executors: Iterator[String]): Either[String, Option[String]] =
    FromDriver.refusal(jar, place).toLeft(ExecutorEndpoint.open(driver, session))
}
