package io.github.kinesisspark.aws

import java.time.{Duration, Instant}

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsCredentialsProvider, AwsSessionCredentials}

/** Temporary credentials that a service gives: of a role or a login. They are renewed five minutes before they expire; a renewal that fails is
  * tried again every ten seconds, and fails the caller only in their last minute. [[CredentialsCache]] makes one call at a time, on threads that
  * may wait, so there is no lock: calls at the same time would only renew twice.
  *
  * The machine's date may be wrong, or jump. So they are good for no longer than they were when they came, by a clock that never goes back. That clock may
  * stand still while the machine sleeps, so the date counts, too. By a date that is an hour ahead, all that come have expired: they are used for ten seconds
  * before others are asked for, which look no better.
  *
  * @param what   they are of, for the log
  * @param call   that gives them
  * @param ask    makes it, and waits; the result has an expiry
  * @param asked  for how long they were asked to be good, if that is known
  * @param now    the machine's time
  * @param nanos  the clock that never goes back
  */
private[aws] final class RenewedCredentials(
    what: String,
    call: AwsCall,
    ask: () => AwsSessionCredentials,
    held: AutoCloseable,
    asked: Option[FiniteDuration] = None,
    now: () => Instant = () => Instant.now,
    nanos: () => Long = () => System.nanoTime()
) extends AwsCredentialsProvider
    with AutoCloseable {
  import RenewedCredentials._

  private val log = LoggerFactory.getLogger(classOf[RenewedCredentials])

  @volatile private var latest  = Option.empty[Renewed]
  @volatile private var nextTry = nanos()

  override def resolveCredentials(): AwsCredentials =
    latest match {
      case Some(known) if left(known) > RenewBefore || known.isNew(nanos()) => known.keys
      case Some(known) if left(known) > FailBefore && nanos() - nextTry < 0 => known.keys
      case Some(known) if left(known) > FailBefore                          =>
        try renew()
        catch {
          case NonFatal(e) =>
            // Only now: a call that hangs may have taken longer than that.
            nextTry = nanos() + TryAgain.toNanos
            log.warn(
              s"$call failed for $what, whose credentials are good for ${left(known).toSeconds} s more: " +
                KinesisFault.inOneLine(e)
            )
            known.keys
        }
      case _ => renew()
    }

  override def close(): Unit = held.close()

  private def renew(): AwsSessionCredentials = {
    val keys = ask()
    val life = asked.foldLeft(byDate(keys))(_ min _)
    val kept = if (life > Zero) Zero else TryAgain
    val came = nanos()
    latest = Some(Renewed(keys, came + life.toNanos, came + kept.toNanos))
    keys
  }

  private def left(known: Renewed): FiniteDuration =
    byDate(known.keys).min((known.goodUntil - nanos()).nanos)

  private def byDate(keys: AwsSessionCredentials) =
    timeLeft(now(), keys.expirationTime.get)
}

private[kinesisspark] object RenewedCredentials {
  val RenewBefore: FiniteDuration = 5.minutes
  val TryAgain: FiniteDuration    = 10.seconds
  private val FailBefore          = 1.minute

  /** @param goodUntil by the clock that never goes back, as is the other
    * @param newUntil  others would be no better before that
    */
  private final case class Renewed(keys: AwsSessionCredentials, goodUntil: Long, newUntil: Long) {
    def isNew(nanos: Long): Boolean = nanos - newUntil < 0
  }

  def keys(id: String, secret: String, token: String, expires: Instant): AwsSessionCredentials =
    AwsSessionCredentials
      .builder()
      .accessKeyId(id)
      .secretAccessKey(secret)
      .sessionToken(token)
      .expirationTime(expires)
      .build()

  /** More than any credentials are kept without a look at them. */
  private val LongLife = 365.days
  private val Zero     = 0.seconds

  /** How long credentials are still good, from nothing to a year: what never expires has a date that no duration reaches (`Instant.MAX`, the
    * year 9999), and what has no date may have the year 1.
    */
  def timeLeft(now: Instant, expires: Instant): FiniteDuration =
    if (expires.isAfter(now.plusMillis(LongLife.toMillis))) LongLife
    else if (expires.isBefore(now)) Zero
    else Duration.between(now, expires).toMillis.millis
}
