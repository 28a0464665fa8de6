package io.github.kinesisspark.aws

import java.io.IOException
import java.time.Instant

import scala.concurrent.duration._
import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory
import software.amazon.awssdk.awscore.exception.AwsServiceException

/** A login that a person made with the AWS command line, as its file has it. It is renewed five minutes before it expires, for as long as the
  * service renews it; then only the person can.
  *
  * @param profile whose login it is
  * @param command of the AWS command line that makes another
  * @param call    that renews it
  * @param expires when it does, by the file
  * @param renewal asks the service for the file's next content, and waits; none for a login that can't be renewed
  * @param now     the machine's time
  */
private[aws] final class Login(
    profile: String,
    command: String,
    call: AwsCall,
    file: LoginFile,
    expires: ujson.Obj => Instant,
    renewal: ujson.Obj => Option[() => ujson.Obj],
    now: () => Instant = () => Instant.now
) {
  import Login._

  private val log = LoggerFactory.getLogger(classOf[Login])

  /** The login as it holds now.
    *
    * @throws KinesisException `KINESIS_LOGIN_REQUIRED`
    */
  def current(): ujson.Obj = file.exclusively { shared =>
    val known = newest(file.read() ++ shared.renewed).getOrElse(missing())
    if (left(known) > RenewedCredentials.RenewBefore) known
    else
      try renewal(known).fold(stillGood(known, ""))(ask => keep(ask(), shared))
      catch {
        // Someone else may have renewed it with the same token, which is good for once.
        case refusal: AwsServiceException if isRefusal(refusal) =>
          val latest = newest(file.read() ++ Some(known)).getOrElse(missing())
          stillGood(latest, s", and AWS does not renew it: ${KinesisFault.inOneLine(refusal)}")
        case NonFatal(e) if left(known) > Zero =>
          log.warn(
            s"$call failed for profile $profile, whose login is good until ${expires(known)}: ${KinesisFault.inOneLine(e)}"
          )
          known
      }
  }

  /** @throws KinesisException `KINESIS_LOGIN_REQUIRED` */
  def required(why: String): Nothing = throw new KinesisException(
    "KINESIS_LOGIN_REQUIRED",
    s"Profile '$profile': $why. Run: $command --profile $profile"
  )

  private def missing(): Nothing = required(s"there is no login in ${file.path}")

  private def stillGood(known: ujson.Obj, why: String): ujson.Obj =
    if (left(known) > Zero) known else required(s"its login expired at ${expires(known)}$why")

  private def keep(login: ujson.Obj, shared: LoginFile.Shared): ujson.Obj = {
    shared.renewed = Some(login)
    try file.write(login)
    catch { case e: IOException => log.warn(s"The renewed login of profile $profile could not be kept: $e") }
    login
  }

  private def newest(logins: Iterable[ujson.Obj]): Option[ujson.Obj] =
    logins.filter(login => Try(expires(login)).isSuccess).maxByOption(expires(_).toEpochMilli)

  private def left(login: ujson.Obj): FiniteDuration = RenewedCredentials.timeLeft(now(), expires(login))
}

private[aws] object Login {
  private val Zero = 0.seconds

  /** Old versions of the command line write UTC in place of Z. */
  def timeOf(text: String): Instant = Instant.parse(text.replace("UTC", "Z"))

  /** Whether the login itself is no good, in contrast to a service that is down or busy. */
  def isRefusal(answer: AwsServiceException): Boolean =
    Set(400, 401, 403)(answer.statusCode) && !answer.isThrottlingException &&
      !Option(answer.awsErrorDetails).exists(_.errorCode == "SlowDownException")
}
