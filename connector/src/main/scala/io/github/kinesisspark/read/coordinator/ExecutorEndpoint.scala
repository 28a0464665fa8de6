package io.github.kinesisspark.read.coordinator

import scala.collection.concurrent.TrieMap
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

import org.apache.spark.kinesisspark.RpcChannel
import org.slf4j.LoggerFactory

import io.github.kinesisspark.jar.WireFormat
import io.github.kinesisspark.read.reader.{
  Heartbeat,
  Mailbox,
  ReaderReport,
  ReaderRequest,
  ReleaseRequest,
  ShardReaderPools
}
import io.github.kinesisspark.runtime.{Runtime, SessionClasses, TryLock}

/** An executor's ends of the channel, one for each session: they carry out what the driver wants, and send it reports. */
private[kinesisspark] final class ExecutorEndpoint(
    executorId: () => String,
    pools: ShardReaderPools,
    network: RpcChannel.Network
)(implicit runtime: Runtime) {
  import ExecutorEndpoint._

  /** Of the one task that opens it now. */
  private val lock   = new TryLock
  private var opened = Map.empty[String, Opened]

  // A request may open clients, which takes its time, and release waits for subscriptions to end.
  private lazy val workers = runtime.workers.growing("kinesis-coordinator")

  /** Runs in a task. Introduces this executor to the driver, again if need be.
    *
    * @param session as [[org.apache.spark.kinesisspark.ClusterExecutors.session]]
    * @return why it can't be
    */
  def open(driverName: String, session: String): Option[String] = {
    lock.take()
    try {
      val ofDriver = opened.filter { case (_, known) => known.driverName == driverName }
      val ends     = ofDriver.getOrElse(session, connect(driverName))
      opened = ofDriver + (session -> ends)
      ends.driver.introduce(executorId(), session, ends.self)
      None
    } catch {
      // Spark's RPC is private: another Spark may have it in another shape.
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn("The executor's end of the channel to the driver can't be opened.", e)
        Some(e.toString)
    } finally lock.free()
  }

  private def connect(driverName: String) = {
    val driver = network.ofDriver(driverName)
    val self   = network.open(s"kinesis-executor-${runtime.ids.uuid()}", new Requests)
    pools.reportBy(send(driver, _))
    Opened(driverName, driver, self)
  }

  private def send(driver: RpcChannel.Peer, report: ReaderReport): Future[Boolean] =
    driver.ask(report.sourceId, WireFormat.write(report), ReportTimeout).map(Reply.isUsed)(ExecutionContext.parasitic)

  private final class Requests extends RpcChannel.Handler {

    /** Requests find what the session's tasks find. */
    private val classes = new SessionClasses

    // One for each source: what takes long in one of them doesn't hold up the others.
    private val bySource = TrieMap.empty[String, Mailbox[() => Unit]]

    override def asked(sourceId: String, request: Array[Byte], reply: Array[Byte] => Unit): Unit =
      bySource
        .getOrElseUpdate(sourceId, new Mailbox[() => Unit](workers, failed)(request => classes.in(request())))
        .put { () =>
          reply(Reply.of {
            val wanted = WireFormat.read[ReaderRequest[AnyRef]](request)
            if (wanted.isInstanceOf[ReleaseRequest]) bySource.remove(sourceId)
            pools.answer(wanted)
          })
        }

    private def failed(cause: Throwable): Unit = log.warn("A request of the driver failed.", cause)

    override def beaten(heartbeat: Array[Byte]): Array[Byte] =
      WireFormat.write(pools.named(WireFormat.read[Heartbeat](heartbeat)))
  }
}

private object ExecutorEndpoint {
  private val log = LoggerFactory.getLogger(classOf[ExecutorEndpoint])

  private val ReportTimeout = 10.seconds

  private final case class Opened(driverName: String, driver: RpcChannel.Peer, self: RpcChannel.Peer)
}

/** What comes back: an answer, none, or what was thrown. */
private[coordinator] object Reply {
  def of(answer: => Option[Any]): Array[Byte] =
    try WireFormat.write(Right(answer))
    catch { case e: Throwable => failed(e) }

  def ofReport(isUsed: Boolean): Array[Byte] = Array[Byte](if (isUsed) 1 else 0)

  def isUsed(bytes: Array[Byte]): Boolean = bytes.sameElements(ofReport(isUsed = true))

  /** Fails with what was thrown: also with an Error of the executor's JVM, which must not be thrown in the driver's. */
  def read[A](bytes: Array[Byte]): Try[Option[A]] =
    Try(WireFormat.read[Either[Throwable, Option[A]]](bytes)).flatMap(_.fold(Failure(_), Success(_)))

  private def failed(e: Throwable) =
    try WireFormat.write(Left(e))
    catch { case NonFatal(_) => WireFormat.write(Left(new IllegalStateException(e.toString))) }
}
