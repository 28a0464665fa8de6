package io.github.kinesisspark.aws

import java.time.Instant
import java.util.concurrent.{
  CompletableFuture,
  Executor,
  SynchronousQueue,
  ThreadPoolExecutor,
  TimeUnit,
  TimeoutException
}

import scala.concurrent.duration._
import scala.jdk.OptionConverters._

import org.slf4j.LoggerFactory
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider
import software.amazon.awssdk.identity.spi.{AwsCredentialsIdentity, IdentityProvider, ResolveIdentityRequest}

/** The credentials of one client's calls. Resolving them blocks, for seconds where STS, an instance's metadata or a class of the user's is
  * slow, and the SDK lets the calling thread wait. So they are resolved here on a thread of their own, and a call is made once they are
  * there: [[before]] keeps no thread waiting. Any thread may call it.
  *
  * Credentials older than `RefreshAfter` are used while new ones are resolved, but not longer than `UsableFor` or their own
  * expiry. A failed resolution fails the calls that wait for it; the next call starts another. A call waits for `patience` at most, and then
  * fails with [[CredentialsLate]]; the resolution continues, for later calls.
  *
  * @param provider is called by one thread at a time
  * @param threads  for the provider, which may block them
  * @param now      by a clock that never goes back, in ns
  * @param patience how long a call waits for its credentials
  */
private[aws] final class CredentialsCache(
    provider: AwsCredentialsProvider,
    threads: Executor = CredentialsCache.threads,
    now: () => Long = () => System.nanoTime(),
    patience: FiniteDuration = CredentialsCache.Patience
) extends IdentityProvider[AwsCredentialsIdentity] {
  import CredentialsCache._

  private val log = LoggerFactory.getLogger(classOf[CredentialsCache])

  /** The class path of the query that made the client, which a class of the user's may need. */
  private val loader = Thread.currentThread.getContextClassLoader

  private var latest  = Option.empty[Resolved]
  private var pending = Option.empty[Answer]

  /** Credentials that have been there once stay, so that a call that was let through finds some. */
  @volatile private var found = Option.empty[Answer]

  /** Makes the call once there are credentials for it; at once, if there are. Cancelling the result cancels the call. */
  def before[A](call: () => CompletableFuture[A]): CompletableFuture[A] = {
    val ready = current()
    if (ready.isDone && !ready.isCompletedExceptionally) call()
    else {
      val result = new CompletableFuture[A]
      // A copy, because others wait for the same credentials.
      ready.copy().orTimeout(patience.toMillis, TimeUnit.MILLISECONDS).whenComplete { (_, failure) =>
        if (failure.isInstanceOf[TimeoutException]) result.completeExceptionally(new CredentialsLate(patience)): Unit
        else if (failure != null) result.completeExceptionally(failure): Unit
        else if (!result.isDone) forward(call, result)
      }
      result
    }
  }

  /** For the SDK, which asks only on behalf of calls that [[before]] let through. */
  override def resolveIdentity(request: ResolveIdentityRequest): Answer = found.getOrElse(current())

  override def identityType(): Class[AwsCredentialsIdentity] = classOf[AwsCredentialsIdentity]

  private def current(): Answer = {
    val (answer, started) = synchronized {
      val time   = now()
      val usable = latest.filter(_.usableUntil - time > 0)
      if (usable.exists(time - _.askedAt < RefreshAfter.toNanos)) (usable.get.answer, None)
      else {
        val started = if (pending.isEmpty) Some(new Answer) else None
        pending = pending.orElse(started)
        (usable.map(_.answer).orElse(pending).get, started)
      }
    }
    started.foreach { resolution =>
      try threads.execute(() => resolve(resolution))
      catch { case e: Throwable => failed(resolution, e) }
    }
    answer
  }

  private def resolve(resolution: Answer): Unit = {
    val asked  = now()
    val result =
      try Right(inLoader(provider.resolveCredentials()))
      catch { case e: Throwable => Left(e) }
    // Completed outside of the lock, and last: it makes the calls that wait.
    result match {
      case Right(credentials) =>
        found = Some(CompletableFuture.completedFuture(credentials))
        synchronized {
          latest = found.map(Resolved(_, asked, asked + lifeOf(credentials).toNanos))
          pending = None
        }
        resolution.complete(credentials): Unit
      case Left(failure) => failed(resolution, failure)
    }
  }

  /** After an exception, credentials resolved before stay usable as long as planned. An Error (no memory, a missing class) is no outage of
    * their source: every call from now on fails with it.
    */
  private def failed(resolution: Answer, failure: Throwable): Unit = {
    log.info("Credentials could not be resolved: {}", KinesisFault.inOneLine(failure))
    synchronized {
      if (!failure.isInstanceOf[Exception]) latest = None
      pending = None
    }
    resolution.completeExceptionally(failure): Unit
  }

  private def inLoader[A](work: => A): A = {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(loader)
    try work
    finally thread.setContextClassLoader(before)
  }
}

private[aws] object CredentialsCache {
  type Answer = CompletableFuture[AwsCredentialsIdentity]

  val RefreshAfter: FiniteDuration = 1.second
  val UsableFor: FiniteDuration    = 1.minute

  /** As long as a call of STS may take. */
  val Patience: FiniteDuration = 1.minute

  /** @param usableUntil and askedAt by the cache's clock */
  private final case class Resolved(answer: Answer, askedAt: Long, usableUntil: Long)

  private def lifeOf(credentials: AwsCredentialsIdentity): FiniteDuration =
    credentials.expirationTime.toScala.fold(UsableFor)(at =>
      UsableFor.min(RenewedCredentials.timeLeft(Instant.now, at))
    )

  private def forward[A](call: () => CompletableFuture[A], to: CompletableFuture[A]): Unit =
    try {
      val sent = call()
      sent.whenComplete { (answer, failure) =>
        if (failure == null) to.complete(answer): Unit else to.completeExceptionally(failure): Unit
      }
      to.whenComplete((_, failure) => if (failure != null) sent.completeExceptionally(failure): Unit): Unit
    } catch { case e: Throwable => to.completeExceptionally(e): Unit }

  /** At most one for each client that resolves credentials now; they end when there is nothing to do. */
  private lazy val threads: Executor =
    new ThreadPoolExecutor(
      0,
      Int.MaxValue,
      10,
      TimeUnit.SECONDS,
      new SynchronousQueue[Runnable],
      new DaemonThreads("kinesis-credentials")
    )
}

/** A call was not made, because its credentials were not there in time. */
private[aws] final class CredentialsLate(after: FiniteDuration)
    extends RuntimeException(s"No credentials within ${after.toMillis / 1000} s")
