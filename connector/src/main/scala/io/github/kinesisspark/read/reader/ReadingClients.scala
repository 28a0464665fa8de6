package io.github.kinesisspark.read.reader

import scala.collection.mutable

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.aws.{ClientKind, ClientLease, KinesisClients}
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.runtime.SessionClasses

/** The clients by which the readers of one source, or one of its tasks, read its streams: one for each stream and kind, leased when it is first needed. All are
  * closed together. Any thread calls it.
  *
  * @param hasRead whether some executor has read for this query before: then a host that can't be found here is an outage, and no mistake
  */
private[reader] final class ReadingClients(config: ReaderConfig, clients: KinesisClients, hasRead: () => Boolean)
    extends AutoCloseable {
  // A reader's thread may need a client first, with a provider of credentials that the session has.
  private val classes = new SessionClasses

  // All below is guarded by `this`.
  private val leases = mutable.HashMap.empty[(StreamArn, ClientKind), ClientLease]
  private var closed = false

  def of(stream: StreamArn, kind: ClientKind): ReadingClient = {
    val known = lease(stream, kind)
    ReadingClient(
      known.client,
      known.retries,
      known.isAws,
      () => known.hasWorked || hasRead(),
      () => known.succeeded()
    )
  }

  /** Makes the client now: that takes its time, in which nobody should wait for a lock. */
  def prepare(stream: StreamArn, kind: ClientKind): Unit = lease(stream, kind): Unit

  /** Made without the lock. Where two threads make one, the first one counts. One that is made after the others are closed is closed, too. */
  private def lease(stream: StreamArn, kind: ClientKind): ClientLease =
    synchronized(leases.get((stream, kind))).getOrElse {
      val access = config.streams(stream)
      val made   = classes.in(clients.lease(access.client, access.region, kind))
      val kept   = synchronized(Option.unless(closed)(leases.getOrElseUpdate((stream, kind), made)))
      if (!kept.contains(made)) made.close()
      kept.getOrElse(made)
    }

  override def close(): Unit = {
    val all = synchronized {
      closed = true
      val own = leases.values.toVector
      leases.clear()
      own
    }
    all.foreach(_.close())
  }
}

/** A client for reading one stream.
  *
  * @param isAws     whether it calls AWS itself
  * @param hasWorked whether a call of it, or of another executor's for the same query, has ever succeeded
  * @param succeeded records that one has
  */
final case class ReadingClient(
    client: KinesisAsyncClient,
    retries: CallRetries,
    isAws: Boolean,
    hasWorked: () => Boolean,
    succeeded: () => Unit
)
