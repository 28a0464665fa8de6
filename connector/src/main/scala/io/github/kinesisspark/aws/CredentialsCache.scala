package io.github.kinesisspark.aws

import java.net.URI
import java.time.Instant
import java.util.concurrent.{CompletableFuture, Executor}

import scala.concurrent.duration._
import scala.jdk.OptionConverters._

import org.slf4j.LoggerFactory
import software.amazon.awssdk.auth.credentials.AwsCredentials
import software.amazon.awssdk.identity.spi.{AwsCredentialsIdentity, IdentityProvider, ResolveIdentityRequest}

import io.github.kinesisspark.config.{ConnectionOptions, CredentialsOptions}
import io.github.kinesisspark.runtime.{Runtime, SessionClasses}

/** The credentials of one client's calls. Resolving them blocks, for seconds where STS, an instance's metadata or a class of the user's is
  * slow, and the SDK lets the calling thread wait. So they are resolved here on a thread of their own, and a call is made once they are
  * there: [[before]] keeps no thread waiting. Their provider is made there, too. Any thread may call it.
  *
  * Credentials older than `RefreshAfter` are used while new ones are resolved, but not longer than `UsableFor` or their own
  * expiry. A failed resolution fails the calls that wait for it; the next call starts another, `RefreshAfter` later at the soonest. A call
  * that has waited for `patience` fails with [[CredentialsTimeout]], while the resolution continues. One that takes longer than `GiveUpAfter` is left behind with its provider: the
  * next call makes another provider.
  *
  * @param what     the credentials are, for errors
  * @param make     makes a provider, which is called by one thread at a time
  * @param threads  for the provider, which may block them
  * @param patience of a call
  */
private[aws] final class CredentialsCache(
    what: String,
    make: () => Credentials.Provider,
    threads: Executor,
    patience: FiniteDuration
)(implicit runtime: Runtime)
    extends IdentityProvider[AwsCredentialsIdentity]
    with AutoCloseable {
  import CredentialsCache._

  private val log = LoggerFactory.getLogger(classOf[CredentialsCache])

  /** Of the query that made the client: a class of the user's may need them. */
  private val classes = new SessionClasses

  private var source  = newSource()
  private var latest  = Option.empty[Resolved]
  private var pending = Option.empty[Resolution]

  /** When the next resolution may begin. */
  private var due = runtime.clock.nanos()

  /** Credentials that have been there once stay, so that a call that was let through finds some. */
  @volatile private var found = Option.empty[Answer]

  /** Makes the call once there are credentials for it; at once, if there are. Cancelling the result cancels the call. */
  def before[A](call: () => CompletableFuture[A]): CompletableFuture[A] = {
    val ready = current()
    if (ready.isDone && !ready.isCompletedExceptionally) call()
    else {
      val result = new CompletableFuture[A]
      // The time limit is this call's: others wait for the same resolution.
      val late = runtime.timers.schedule(patience.toNanos) {
        result.completeExceptionally(new CredentialsTimeout(what, patience)): Unit
      }
      ready.whenComplete { (_, failure) =>
        late.cancel()
        if (failure != null) result.completeExceptionally(failure): Unit
        else if (!result.isDone) forward(call, result)
      }
      result
    }
  }

  /** For the SDK, which asks only on behalf of calls that [[before]] let through. */
  override def resolveIdentity(request: ResolveIdentityRequest): Answer = found.getOrElse(current())

  override def identityType(): Class[AwsCredentialsIdentity] = classOf[AwsCredentialsIdentity]

  /** Doesn't wait for the provider, which may be stuck. */
  override def close(): Unit = {
    val last = synchronized(source)
    threads.execute(() => last.close())
  }

  private def current(): Answer = {
    val (answer, started) = synchronized {
      val time   = runtime.clock.nanos()
      val usable = latest.filter(_.usableUntil - time > 0)
      if (usable.exists(time - _.askedAt < RefreshAfter.toNanos)) (usable.get.answer, None)
      else {
        if (pending.exists(time - _.startedAt > GiveUpAfter.toNanos)) leaveBehind()
        val started = if (pending.isEmpty) Some(new Resolution(source, due.max(time))) else None
        pending = pending.orElse(started)
        (usable.map(_.answer).orElse(pending.map(_.answer)).get, started)
      }
    }
    started.foreach { resolution =>
      val wait = resolution.startedAt - runtime.clock.nanos()
      if (wait > 0) runtime.timers.schedule(wait)(start(resolution)): Unit else start(resolution)
    }
    answer
  }

  private def start(resolution: Resolution): Unit =
    try threads.execute(() => resolve(resolution))
    catch { case e: Throwable => ended(resolution, Left(e)) }

  private def leaveBehind(): Unit = {
    log.warn(s"Credentials did not come in ${GiveUpAfter.toMinutes} min, their provider is made anew: $what")
    pending = None
    source = newSource()
  }

  private def newSource() = new MadeOnce(make)

  private def resolve(resolution: Resolution): Unit = {
    val result =
      try Right(classes.in(resolution.source.get().resolveCredentials()))
      catch {
        case e: Exception => Left(NoCredentials.of(what, e))
        case e: Throwable => Left(e)
      }
    ended(resolution, result)
  }

  /** After an exception, credentials resolved before stay usable as long as planned. An Error (no memory, a missing class), also as the cause
    * of an exception, is no outage of their source: every call from now on fails with it.
    */
  private def ended(resolution: Resolution, result: Either[Throwable, AwsCredentials]): Unit = {
    val isLeftBehind = synchronized {
      val isLeftBehind = !pending.contains(resolution)
      if (!isLeftBehind) pending = None
      result match {
        case Right(credentials) =>
          found = Some(CompletableFuture.completedFuture(credentials))
          val asked = resolution.startedAt
          latest = found.map(
            Resolved(_, asked, asked + lifeOf(credentials, Instant.ofEpochMilli(runtime.clock.millis())).toNanos)
          )
        case Left(failure) =>
          due = runtime.clock.nanos() + RefreshAfter.toNanos
          if (isByError(failure)) latest = None
      }
      isLeftBehind
    }
    // Completed outside of the lock, and last: it makes the calls that wait.
    result match {
      case Right(credentials) => resolution.answer.complete(credentials): Unit
      case Left(failure)      =>
        runtime.lines.info(log, s"$what ${failure.getClass.getName}", what)(
          s"Credentials could not be resolved: ${KinesisFault.inOneLine(failure)}"
        )
        resolution.answer.completeExceptionally(failure): Unit
    }
    if (isLeftBehind) resolution.source.close()
  }
}

private[aws] object CredentialsCache {
  type Answer = CompletableFuture[AwsCredentialsIdentity]

  val RefreshAfter: FiniteDuration = 1.second
  val UsableFor: FiniteDuration    = 1.minute

  /** Less than any reader waits for its call. */
  val Patience: FiniteDuration = 30.seconds

  val GiveUpAfter: FiniteDuration = 5.minutes

  /** For a client of these options; see [[Credentials.apply]]. */
  def apply(
      options: CredentialsOptions,
      region: String,
      connection: ConnectionOptions,
      endpoint: Option[URI],
      threads: Executor,
      patience: FiniteDuration = Patience
  )(implicit runtime: Runtime): CredentialsCache = new CredentialsCache(
    Credentials.describe(options),
    () => Credentials(options, region, connection, endpoint),
    threads,
    patience
  )

  private final class Resolution(val source: MadeOnce[Credentials.Provider], val startedAt: Long) {
    val answer = new Answer
  }

  /** @param usableUntil and askedAt by the cache's clock */
  private final case class Resolved(answer: Answer, askedAt: Long, usableUntil: Long)

  private def isByError(failure: Throwable): Boolean =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).exists(_.isInstanceOf[Error])

  private def lifeOf(credentials: AwsCredentialsIdentity, now: Instant): FiniteDuration =
    credentials.expirationTime.toScala.fold(UsableFor)(at => UsableFor.min(RenewedCredentials.timeLeft(now, at)))

  private def forward[A](call: () => CompletableFuture[A], to: CompletableFuture[A]): Unit =
    try {
      val sent = call()
      sent.whenComplete { (answer, failure) =>
        if (failure == null) to.complete(answer): Unit else to.completeExceptionally(failure): Unit
      }
      to.whenComplete((_, failure) => if (failure != null) sent.completeExceptionally(failure): Unit): Unit
    } catch { case e: Throwable => to.completeExceptionally(e): Unit }
}

/** A call's credentials did not come in time. */
private[kinesisspark] final class CredentialsTimeout(what: String, waited: FiniteDuration)
    extends RuntimeException(s"$what gave no credentials within ${waited.toSeconds} s")
