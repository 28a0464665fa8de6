package io.github.kinesisspark.read.coordinator

import java.util.concurrent.TimeoutException

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.kinesisspark.RpcChannel
import org.slf4j.LoggerFactory

import io.github.kinesisspark.jar.{BuiltFor, WireFormat}
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{Heartbeat, LivePools, Liveness, ReaderReport, ReaderRequest, ReleaseRequest}
import io.github.kinesisspark.runtime.{Attempt, Runtime}

/** The driver's end of the channel to the executors of one cluster, shared by all its queries. It closes with the SparkContext.
  *
  * Owns the executors' ends, which a small Spark job opens, and knows by a heartbeat which of them answer. Queries' threads, Spark's RPC threads
  * and the heartbeat's own all use it.
  *
  * @param bySource orders, and what readers report
  * @param ended    called when it is closed
  */
private[coordinator] final class DriverEndpoint(
    cluster: Cluster,
    bySource: OrdersBySource,
    ended: DriverEndpoint => Unit
)(implicit runtime: Runtime)
    extends RpcChannel.Handler {
  import DriverEndpoint._

  private val name  = s"kinesis-coordinator-${runtime.ids.uuid()}"
  private val pulse = runtime.workers.fixed("kinesis-heartbeat", 1)

  // Reading a large report takes time that Spark's own threads don't have.
  private val reports = runtime.workers.fixed("kinesis-reader-reports", 1)

  // Looking for other executors asks Spark, whose answer may take long.
  private val reassigning = runtime.workers.fixed("kinesis-reassigning", 1)

  // All below is guarded by `this`. Sources with the session of each.
  private val peers      = mutable.HashMap.empty[PeerKey, Contact]
  private val sources    = mutable.LinkedHashMap.empty[String, String]
  private val placements = mutable.HashMap.empty[String, Placement]
  private var refused    = Option.empty[String]
  private var wrongJar   = Option.empty[String]
  private var failure    = Option.empty[Throwable]

  /** At most one look for other executors is under way or waits. */
  private var isReassigning = false

  def open(network: RpcChannel.Network): Unit = {
    network.open(name, this)
    pulse.every(Liveness.Beat)(beat()): Unit
  }

  /** The readers of the source live as long as this driver. Its first planning tries executors that have no ends at once: that a query was stopped
    * while Spark had no core for its job says nothing about them.
    */
  def keep(sourceId: String, session: String): Unit = synchronized {
    sources(sourceId) = session
    placements.updateWith(session)(_.filter(_.isRunning)): Unit
  }

  /** With the last source of a session its executors are forgotten: a server of Spark Connect sees many sessions. Who has none is in all of them. */
  def forget(sourceId: String): Unit = synchronized {
    for (session <- sources.remove(sourceId) if session.nonEmpty && !sources.valuesIterator.contains(session)) {
      peers --= peers.keys.filter(_.session == session).toVector
      placements -= session
    }
  }

  /** Why an executor could not open its end, if none has one. */
  def refusal(session: String): Option[String] =
    synchronized(refused.filterNot(_ => peers.keys.exists(_.session == session)))

  /** Those that answer, once there are any. Executors that haven't been tried yet get their ends opened, and others again from time
    * to time.
    *
    * @param isExclusive whether a job that opens ends is waited for, though others answer
    * @throws java.lang.IllegalArgumentException if an executor has another version of this JAR
    */
  def answering(
      executors: Vector[ExecutorHealth.ExecutorState],
      session: String,
      isExclusive: Boolean = false
  ): Set[ExecutorId] = {
    prune(executors.iterator.map(_.id.id).toSet)
    placeIfDue(executors, session)
    synchronized {
      def have =
        executors.iterator.map(_.id).filter(e => peers.get(PeerKey(e.id, session)).exists(_.pulse.answers)).toSet
      // A job that a stopped context was given at the last moment never ends.
      def isPending = !cluster.isStopped && refusal(session).isEmpty &&
        placement(session).isAwaited(have.size, executors.size, isExclusive, runtime.clock.nanos())
      while (isPending) runtime.waits.await(this, Look.toNanos)
      wrongJar.foreach { why =>
        // The query that begins next looks again.
        wrongJar = None
        throw BuiltFor.error(why)
      }
      if (have.isEmpty && refused.isEmpty && placement(session).isHopeless) failure.foreach(throw _)
      have
    }
  }

  /** Sends a request without waiting. The callback gets the answer on another thread, or nothing if the executor can't answer. It fails with what the
    * executor failed with, or with [[Unanswered]] if that has answered heartbeats meanwhile.
    */
  def send[A](executor: ExecutorId, request: ReaderRequest[A], session: String)(done: Try[Option[A]] => Unit): Unit = {
    val key = PeerKey(executor.id, session)
    synchronized(peers.get(key)) match {
      case Some(contact) =>
        evenAfterError(contact.peer.ask(request.sourceId, WireFormat.write(request), Liveness.OrderTimeout))
          .onComplete {
            case Success(bytes) => readAside(bytes.length)(done(Attempt(Reply.read[A](bytes)).flatten))
            case Failure(e)     =>
              log.debug(s"Executor $executor gave no answer: $e")
              val isThere = e.isInstanceOf[TimeoutException] &&
                synchronized(peers.get(key)).exists(_.pulse.hasAnsweredSince(contact.pulse))
              done(if (isThere) Failure(new Unanswered) else Success(None))
          }(ExecutionContext.parasitic)
      case None => done(Success(None))
    }
  }

  /** What an Error keeps from being asked has failed: otherwise nobody would ask it again. */
  private def evenAfterError[A](ask: => Future[A]): Future[A] = Attempt(ask).fold(Future.failed, identity)

  /** Reads what is short at once, on a thread of Spark's. */
  private def readAside(length: Int)(read: => Unit): Unit =
    if (length <= Short) read else reports.execute(() => read)

  /** Has executors close the readers of a source, all at once, and waits until they have. Where one fails or doesn't answer in time, its readers close at the
    * end of their lease.
    */
  def release(
      executors: Iterable[ExecutorId],
      request: ReleaseRequest,
      session: String,
      within: FiniteDuration
  ): Unit = {
    val deadline = runtime.clock.nanos() + within.toNanos
    val asked    = for {
      executor <- executors.toVector
      contact  <- synchronized(peers.get(PeerKey(executor.id, session)))
    } yield executor -> contact.peer.ask(request.sourceId, WireFormat.write(request), within)
    asked.foreach { case (executor, reply) =>
      runtime.waits.isDone(reply, (deadline - runtime.clock.nanos()).max(0L).nanos)
      val answer = reply.value.getOrElse(Failure(new TimeoutException("no answer in time")))
      answer.flatMap(Reply.read[Boolean]).failed.foreach { e =>
        log.debug(s"Executor ${executor.id} has not closed its readers: $e")
      }
    }
  }

  override def asked(sourceId: String, report: Array[Byte], reply: Array[Byte] => Unit): Unit =
    reports.execute { () =>
      val isUsed =
        try bySource.accept(WireFormat.read[ReaderReport](report))
        catch {
          case NonFatal(e) =>
            log.warn("A report of shard readers can't be read.", e)
            false
        }
      reply(Reply.ofReport(isUsed))
    }

  override def introduced(executor: String, session: String, peer: RpcChannel.Peer): Unit = synchronized {
    if (session.isEmpty || sources.valuesIterator.contains(session))
      peers(PeerKey(executor, session)) = Contact(peer, Pulse.first, answeredNanos = None)
    refused = None
    runtime.waits.signal(this)
  }

  override def stopped(): Unit = {
    pulse.close()
    reports.close()
    reassigning.close()
    ended(this)
  }

  private def prune(present: Set[String]): Unit = synchronized {
    peers.keys.filterNot(key => present(key.executor)).toVector.foreach(peers.remove)
    placements.mapValuesInPlace((_, placement) => placement.keepOnly(present))
  }

  private def beat(): Unit =
    try {
      val (due, own) = synchronized {
        val due = peers.filter { case (_, contact) => contact.pulse.isDue }.toVector
        if (sources.nonEmpty) peers.mapValuesInPlace((_, contact) => contact.copy(pulse = contact.pulse.beat))
        (due, sources.toVector)
      }
      if (own.nonEmpty) due.foreach { case (key, contact) =>
        val expected = for {
          (sourceId, session) <- own if session == key.session
          orders              <- bySource.get(sourceId)
          believed            <- orders.expected(key.executor)
        } yield sourceId -> believed
        beat(key, contact, expected.toMap)
      }
      val abandoned = for {
        (sourceId, session) <- own
        orders              <- bySource.get(sourceId) if lost(orders, session).nonEmpty
      } yield orders -> session
      if (abandoned.nonEmpty) reassignAside(abandoned)
    } catch { case NonFatal(e) => log.warn("A heartbeat to the executors failed.", e) }

  private def beat(key: PeerKey, contact: Contact, expected: Map[String, SharedOrders.Expected]): Unit = {
    val heartbeat =
      Heartbeat(expected.transform((_, e) => e.epoch), runtime.clock.nanos(), contact.answeredNanos)
    evenAfterError(contact.peer.beat(WireFormat.write(heartbeat), Liveness.BeatTimeout))
      .map(WireFormat.read[LivePools])(ExecutionContext.parasitic)
      .onComplete { answer =>
        answer.foreach { live =>
          for ((sourceId, e) <- expected; orders <- bySource.get(sourceId))
            orders.found(key.executor, e, live.pools.get(sourceId))
        }
        recordBeat(key, contact.peer, answer.toOption)
      }(ExecutionContext.parasitic)
  }

  /** Executors of a source that are lost between two plannings, as in a batch that takes long. */
  private def lost(orders: SharedOrders, session: String): Set[ExecutorId] =
    orders.unattended.filter(pulseOf(_, session).forall(_.isLost))

  private def pulseOf(executor: ExecutorId, session: String) =
    synchronized(peers.get(PeerKey(executor.id, session))).map(_.pulse)

  private def reassignAside(abandoned: Vector[(SharedOrders, String)]): Unit = {
    val isIdle = synchronized {
      val before = isReassigning
      isReassigning = true
      !before
    }
    if (isIdle) reassigning.execute { () =>
      try for ((orders, session) <- abandoned) reassignShards(orders, session)
      catch { case NonFatal(e) => log.warn("Finding other executors for shards has failed.", e) }
      finally
        synchronized {
          isReassigning = false
        }
    }
  }

  /** Has others read what lost executors read. */
  private def reassignShards(orders: SharedOrders, session: String): Unit =
    if (!cluster.isStopped) {
      val registered = cluster.registered()
      // Only a thread of a session of Spark Connect with JARs of its own starts jobs that find them.
      if (session.isEmpty) placeIfDue(registered, session)
      val open = registered.filter(_.isOpen).map(_.id)
      // Since the answer was asked for, a planning may have had others read, or the executor may have answered.
      val gone = lost(orders, session)
      if (gone.nonEmpty) orders.reassign(gone, open.filter(pulseOf(_, session).exists(_.answers)).toSet)
    }

  private def recordBeat(key: PeerKey, peer: RpcChannel.Peer, answer: Option[LivePools]): Unit = synchronized {
    for (contact <- peers.get(key) if contact.peer eq peer)
      peers(key) = contact.copy(
        pulse = contact.pulse.ended(answer.isDefined),
        answeredNanos = answer.map(_.atNanos).orElse(contact.answeredNanos)
      )
  }

  private def placeIfDue(executors: Vector[ExecutorHealth.ExecutorState], session: String): Unit = synchronized {
    val last    = placement(session)
    val missing = executors.filterNot(e => peers.contains(PeerKey(e.id.id, session)))
    // Where no task would start at once, Spark would run it elsewhere; but where no executor is reached yet, all are tried.
    val ready = missing.filter(_.runsTasks)
    val some  = (if (ready.isEmpty && missing.size == executors.size) missing else ready).map(_.id)
    if (last.isDue(some.toSet, runtime.clock.nanos())) {
      placements(session) = last.start(some.toSet, runtime.clock.nanos())
      evenAfterError(cluster.openEnds(name, session, some)(_.fold(refuseJar, _.foreach(refuse))))
        .onComplete(result => placed(session, result))(ExecutionContext.parasitic)
    }
  }

  private def placement(session: String) = placements.getOrElse(session, Placement.none)

  private def placed(session: String, result: Try[Unit]): Unit = synchronized {
    placements.updateWith(session)(_.map(_.end(result.isFailure, runtime.clock.nanos()))): Unit
    failure = result.failed.toOption
    runtime.waits.signal(this)
  }

  private def refuseJar(why: String): Unit = synchronized {
    wrongJar = Some(why)
    runtime.waits.signal(this)
  }

  private def refuse(why: String): Unit = synchronized {
    refused = Some(why)
    runtime.waits.signal(this)
  }
}

private object DriverEndpoint {
  private val log = LoggerFactory.getLogger(classOf[DriverEndpoint])

  /** @param session as [[org.apache.spark.kinesisspark.ClusterExecutors.session]]: each has readers of its own in an executor */
  private final case class PeerKey(executor: String, session: String)

  private val Look = 100.millis

  /** In bytes. Some ten shards' report. */
  private val Short = 16 << 10
}

/** An executor answers heartbeats, and not an order. */
private[coordinator] final class Unanswered extends TimeoutException
