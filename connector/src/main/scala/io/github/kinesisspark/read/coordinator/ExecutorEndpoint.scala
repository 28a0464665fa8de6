package io.github.kinesisspark.read.coordinator

import java.util.UUID
import java.util.concurrent.{ExecutorService, Executors, ThreadFactory}

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.kinesisspark.RpcChannel
import org.slf4j.LoggerFactory

import io.github.kinesisspark.aws.DaemonThreads
import io.github.kinesisspark.read.reader.{ReaderRequest, ShardReaderPools}

/** An executor's end of the channel: answers requests of the driver, and reports that there are news. */
private[coordinator] object ExecutorEndpoint {
  private val log    = LoggerFactory.getLogger(getClass)
  private var opened = Option.empty[Opened]

  private final case class Opened(driverName: String, driver: RpcChannel.Peer, self: RpcChannel.Peer)

  /** Runs in a task. Introduces this executor to the driver, again if need be.
    *
    * @param session as [[org.apache.spark.kinesisspark.ClusterExecutors.session]]
    * @return why it can't be
    */
  def open(driverName: String, session: String): Option[String] = synchronized {
    try {
      val ends = opened.filter(_.driverName == driverName).getOrElse(connect(driverName))
      opened = Some(ends)
      ends.driver.introduce(SparkEnv.get.executorId, session, ends.self)
      None
    } catch {
      case NonFatal(e) =>
        log.warn("The executor's end of the channel to the driver can't be opened.", e)
        Some(e.toString)
    }
  }

  private def connect(driverName: String) = {
    val driver = RpcChannel.ofDriver(driverName)
    val self   = RpcChannel.open(s"kinesis-executor-${UUID.randomUUID()}", new Requests)
    ShardReaderPools.onNews(source => report(driver, source))
    Opened(driverName, driver, self)
  }

  private def report(driver: RpcChannel.Peer, source: String): Unit =
    try driver.note(source)
    catch { case NonFatal(e) => log.debug(s"Reporting news of $source failed: $e") }

  private final class Requests extends RpcChannel.Handler {
    // A request may open clients, which takes its time, and release waits for subscriptions to end.
    private val workers: ExecutorService =
      Executors.newCachedThreadPool(ofTask(Thread.currentThread.getContextClassLoader))

    override def asked(request: Array[Byte], reply: Array[Byte] => Unit): Unit =
      workers.execute(() => reply(Reply.of(ShardReaderPools.answer(WireFormat.read[ReaderRequest[AnyRef]](request)))))

    override def keptAlive(sources: Vector[String]): Unit = ShardReaderPools.keepAlive(sources)
  }

  /** Threads that find the classes that tasks find. */
  private def ofTask(classes: ClassLoader): ThreadFactory = {
    val threads = new DaemonThreads("kinesis-coordinator")
    work => {
      val thread = threads.newThread(work)
      thread.setContextClassLoader(classes)
      thread
    }
  }
}

/** What comes back: an answer, none, or what went wrong, which is then thrown in the driver. */
private[coordinator] object Reply {
  def of(answer: => Option[AnyRef]): Array[Byte] =
    try WireFormat.write(Right(answer))
    catch { case e: Throwable => failed(e) }

  def read[A](bytes: Array[Byte]): Option[A] =
    WireFormat.read[Either[Throwable, Option[A]]](bytes).fold(throw _, identity)

  private def failed(e: Throwable) =
    try WireFormat.write(Left(e))
    catch { case NonFatal(_) => WireFormat.write(Left(new IllegalStateException(e.toString))) }
}
