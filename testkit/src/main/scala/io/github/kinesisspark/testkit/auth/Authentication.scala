package io.github.kinesisspark.testkit.auth

import io.github.kinesisspark.testkit.{AccessKeys, KinesisServerConfig, SessionToken}
import io.github.kinesisspark.testkit.model.ServiceError

/** Finds out who makes a call. Without accounts anybody is the server's own account; with accounts the access key says who
  * it is, and the signature proves it where signatures are required.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/CommonErrors.html Common errors]]
  */
final private[testkit] class Authentication(config: KinesisServerConfig, keys: AccessKeys) {
  import Authentication._

  private val owner = Caller.owner(config.accountId)

  /** @param request made only if it is looked at
    * @param service that the signature must be for
    */
  def caller(request: => SignedRequest, service: String = "kinesis"): Either[ServiceError, Caller] =
    if (config.accounts.nonEmpty) principal(request, service)
    else if (config.requireSignature) SignatureV4.of(request).map(_ => owner)
    else Right(owner)

  private def principal(request: SignedRequest, service: String): Either[ServiceError, Caller] =
    for {
      signature <- SignatureV4.of(request)
      _         <- refuse(
        if (config.requireSignature) signature.misplaced(config.region, config.clock.instant, service) else None
      )
      entry <- keys.get(signature.accessKeyId).toRight(unrecognized)
      _     <- refuse(tokenRefusal(request.header("x-amz-security-token"), entry.key.session))
      _     <- refuse(if (config.requireSignature) signature.mismatch(request, entry.key.secret) else None)
    } yield entry.caller

  private def tokenRefusal(sent: Option[String], expected: Option[SessionToken]): Option[ServiceError] =
    if (sent != expected.map(_.token)) Some(unrecognized)
    else
      expected
        .flatMap(_.expiresAt)
        .filterNot(config.clock.instant.isBefore(_))
        .map(_ => ServiceError("ExpiredTokenException", "The security token included in the request is expired"))
}

private[testkit] object Authentication {
  private val unrecognized =
    ServiceError("UnrecognizedClientException", "The security token included in the request is invalid.")

  private def refuse(error: Option[ServiceError]): Either[ServiceError, Unit] = error.toLeft(())
}
