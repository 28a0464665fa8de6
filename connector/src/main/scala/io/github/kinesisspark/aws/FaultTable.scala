package io.github.kinesisspark.aws

import java.io.IOException
import java.net.{
  ConnectException,
  NoRouteToHostException,
  SocketException,
  SocketTimeoutException,
  UnknownHostException
}
import java.nio.channels.{ClosedByInterruptException, ClosedChannelException}
import java.util.concurrent.{CancellationException, TimeoutException}
import javax.net.ssl.{SSLHandshakeException, SSLPeerUnverifiedException}

import io.netty.handler.codec.CodecException
import io.netty.handler.codec.http2.Http2Exception
import io.netty.handler.ssl.NotSslRecordException
import io.netty.handler.timeout.{TimeoutException => NettyTimeout}
import software.amazon.awssdk.core.exception.{
  AbortedException,
  ApiCallAttemptTimeoutException,
  ApiCallTimeoutException,
  SdkClientException
}

import scala.util.matching.Regex

/** What failures of calls mean, from the top: [[FaultClassifier]] takes the first row that matches any link of the chain of causes. To treat a failure in another
  * way, change its row; `FaultClassifierTest` has a case for each.
  *
  * Codes are those of the service's API reference. Some rows are stricter than those of other Kinesis consumers, because of what
  * happened there: access denied that is retried without end hides a mistake, and a missing resource that is taken for the end of a
  * shard loses data.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/CommonErrors.html Kinesis: common errors]]
  */
object FaultTable {

  /** A stream, shard or consumer that isn't there; readers ask what it was before they call it lost. */
  val NotFound = "KINESIS_NOT_FOUND"

  /** Of a request that the service can't use. */
  val RequestRefused = "KINESIS_REQUEST_REFUSED"

  /** One line of the table. It matches a failure of one of its codes, classes or names that meets all other conditions given; a condition
    * left out always holds.
    *
    * @param fault    what it means
    * @param reason   why this row says what it says
    * @param codes    error codes of the service, or, of its exceptions without one, their simple names
    * @param classes  classes of exceptions
    * @param named    simple names of exceptions that the SDK keeps to itself
    * @param statuses HTTP statuses of the service's answer
    * @param services the SDK's names of services, of which one answered
    * @param saying   found in the message
    */
  final case class Row(
      kind: FaultKind,
      fault: (FaultKind, Throwable) => Fault,
      reason: String,
      codes: Set[String] = Set.empty,
      classes: Seq[Class[? <: Throwable]] = Nil,
      named: Set[String] = Set.empty,
      statuses: Range = Range(0, 0),
      services: Set[String] = Set.empty,
      saying: Option[Regex] = None
  )

  private val ThrottlingCodes = Set(
    "ProvisionedThroughputExceededException",
    "LimitExceededException",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "SlowDown"
  )

  /** They give credentials. */
  private val CredentialServices = Set("Sts", "Sso", "SsoOidc", "Signin")

  private val CredentialsThrottled = FaultKind(
    "KINESIS_CREDENTIALS_THROTTLED",
    "The service that gives the credentials (STS, or IAM Identity Center) gets more requests than its quota."
  )

  private val Failed = FaultKind("KINESIS_CALL_FAILED", "See the cause.")

  private val SilentIdentityProvider = FaultKind(
    "KINESIS_ROLE_REFUSED",
    "STS gets no answer of the identity provider that gave the token. IAM must have its right address, and STS must reach it."
  )

  private val ClockSkew = FaultKind(
    "KINESIS_CLOCK_SKEW",
    "This machine's clock differs too much from the service's (5 minutes are allowed). Correct it, with NTP for example.",
    showsRequest = true
  )

  private val disconnected: (FaultKind, Throwable) => Fault = Fault.Disconnected(_, _)
  private val transient: (FaultKind, Throwable) => Fault    = Fault.Transient(_, _)
  private val suspect: (FaultKind, Throwable) => Fault      = Fault.Suspect(_, _)
  private val invalid: (FaultKind, Throwable) => Fault      = Fault.InvalidArgument(_, _)
  private val fatal: (FaultKind, Throwable) => Fault        = Fault.Fatal(_, _)
  private val throttled: (FaultKind, Throwable) => Fault    = Fault.Throttled(_, _)

  val rows: Seq[Row] = Seq(
    // -- credentials and permissions
    Row(
      FaultKind("KINESIS_CREDENTIALS_PROVIDER", "The class that credentialsProvider names has failed; see its error."),
      suspect,
      "What it asks may be down for a while. An Error in it, such as a missing class, doesn't pass.",
      classes = Seq(classOf[KinesisException]),
      saying = Some("KINESIS_CREDENTIALS_PROVIDER.* failed: \\S+Exception\\b".r)
    ),
    Row(
      FaultKind(
        "KINESIS_CREDENTIALS_PROVIDER",
        "The class that credentialsProvider names can't be used; see its error."
      ),
      fatal,
      "A class that isn't there, or isn't as it must be, stays so.",
      classes = Seq(classOf[KinesisException]),
      saying = Some("KINESIS_CREDENTIALS_PROVIDER".r)
    ),
    Row(
      FaultKind(
        "KINESIS_NO_CREDENTIALS",
        "Check what the message names, on the driver and all executors: files must be readable, and a process must print credentials."
      ),
      suspect,
      "A file that is being replaced, or what a process asks, is back in seconds.",
      classes = Seq(classOf[NoCredentials])
    ),
    Row(
      FaultKind(
        "KINESIS_CREDENTIALS_TIMED_OUT",
        "What gives the credentials (a service, a process or a class of your own) does not answer: check it, and give it time limits of its own."
      ),
      transient,
      "A source that is down for a while looks like one that never answers.",
      classes = Seq(classOf[CredentialsTimeout])
    ),
    Row(
      FaultKind(
        "KINESIS_CREDENTIALS_ALIAS",
        "A key or password is given as alias:<name>, and Hadoop's credential providers don't give what they have under that name."
      ),
      suspect,
      "The file system that keeps it may be down for a while; a name that isn't there doesn't come.",
      classes = Seq(classOf[KinesisException]),
      saying = Some("KINESIS_CREDENTIALS_ALIAS".r)
    ),
    Row(
      FaultKind(
        "KINESIS_LOGIN_REQUIRED",
        "Log in again on the driver and all executors: they need the files that it leaves in ~/.aws/sso/cache or ~/.aws/login/cache."
      ),
      fatal,
      "Only a person can. The default chain has this in the list of all that it tried.",
      saying = Some("KINESIS_LOGIN_REQUIRED".r)
    ),
    Row(
      CredentialsThrottled,
      transient,
      "It passes. Unlike the shard's own limits it is an outage: it is warned of, and ends the query if it lasts.",
      codes = ThrottlingCodes,
      services = CredentialServices
    ),
    Row(
      CredentialsThrottled,
      transient,
      "Whatever the code: 429 means wait.",
      statuses = 429 to 429,
      services = CredentialServices
    ),
    Row(
      SilentIdentityProvider,
      suspect,
      "The provider's trouble passes in seconds.",
      codes = Set("IDPCommunicationError"),
      services = Set("Sts")
    ),
    Row(
      SilentIdentityProvider,
      suspect,
      "STS gives this failure the code of a wrong token, so its text decides. Where IAM has a wrong address of the provider, the text is the same: that is retried, too, in vain.",
      codes = Set("InvalidIdentityToken"),
      services = Set("Sts"),
      saying = Some("(?i)couldn't retrieve verification key".r)
    ),
    Row(
      FaultKind(
        "KINESIS_ROLE_REFUSED",
        "The role can't be assumed: its trust policy must allow this caller (and name the external ID, if it asks for one), " +
          "and the caller needs sts:AssumeRole for it."
      ),
      fatal,
      "STS says no to a role that doesn't exist, too; only a changed policy helps.",
      codes = Set(
        "AccessDenied",
        "AccessDeniedException",
        "ValidationError",
        "MalformedPolicyDocument",
        "RegionDisabledException",
        "InvalidIdentityToken",
        "IDPRejectedClaim"
      ),
      services = Set("Sts")
    ),
    Row(
      FaultKind(
        "KINESIS_ROLE_REFUSED",
        "The profile's sso_account_id and sso_role_name must name an account and a role that are assigned to the person who logged in."
      ),
      fatal,
      "Only another assignment helps.",
      codes = Set("ForbiddenException", "ResourceNotFoundException", "InvalidRequestException"),
      services = Set("Sso")
    ),
    Row(
      ClockSkew,
      suspect,
      "The SDK learns the difference from the refusal and signs the next attempt with it, so one retry usually succeeds.",
      codes = Set("RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture")
    ),
    Row(
      ClockSkew,
      suspect,
      "Kinesis reports skew under the code of a wrong signature; only the text differs.",
      codes = Set("InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure"),
      saying = Some("(?i)signature (expired|not yet current)".r)
    ),
    Row(
      FaultKind(
        "KINESIS_CREDENTIALS_REJECTED",
        "The signature is wrong: the secret key doesn't belong to the access key, or the region isn't the endpoint's.",
        showsRequest = true
      ),
      fatal,
      "The same keys sign the same way again.",
      codes =
        Set("InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature", "IncompleteSignatureException")
    ),
    Row(
      FaultKind(
        "KINESIS_CREDENTIALS_EXPIRED",
        "The credentials have expired. Renew them, or use a kind that is refreshed: roleArn, profile, credentialsProvider."
      ),
      suspect,
      "Providers refresh ahead of time; a refusal after all may come between two refreshes, but static session tokens stay expired.",
      codes = Set("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired")
    ),
    Row(
      FaultKind(
        "KINESIS_CREDENTIALS_REJECTED",
        "The service doesn't know these credentials (wrong, deleted, or of another partition)."
      ),
      fatal,
      "Unknown keys stay unknown.",
      codes = Set(
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "NotAuthorized",
        "AuthFailure"
      )
    ),
    Row(
      FaultKind(
        "KINESIS_ACCESS_DENIED",
        "The credentials' policy, or the stream's, must allow <action> on this resource."
      ),
      Fault.Denied(_, _),
      "Only a changed policy helps; consumers that retried this without end stood still without a word.",
      codes = Set("AccessDeniedException", "AccessDenied")
    ),
    Row(
      FaultKind("KINESIS_KMS_THROTTLED", "The stream's KMS key gets more requests than its quota."),
      transient,
      "It passes with less traffic on the key. Unlike the shard's own limits it is an outage: it is warned of, and ends the query if it lasts.",
      codes = Set("KMSThrottlingException", "KmsThrottlingException")
    ),
    Row(
      FaultKind(
        "KINESIS_KMS_DENIED",
        "The stream is encrypted. The credentials need kms:Decrypt (reading) and kms:GenerateDataKey (writing) for its key, and the key must be enabled."
      ),
      fatal,
      "A key that is denied, disabled, deleted or pending takes people to change.",
      codes = Set(
        "KMSAccessDeniedException",
        "KMSDisabledException",
        "KMSInvalidStateException",
        "KMSNotFoundException",
        "KMSOptInRequired",
        "KMSOptInRequiredException",
        "KmsAccessDeniedException",
        "KmsDisabledException",
        "KmsInvalidStateException",
        "KmsNotFoundException",
        "KmsOptInRequiredException"
      )
    ),
    // -- the query is being stopped
    Row(
      FaultKind("KINESIS_CALL_CANCELLED", "The query is being stopped."),
      Fault.Cancelled(_, _),
      "An interrupt is how Spark stops a query; retrying would hold it up.",
      classes = Seq(
        classOf[InterruptedException],
        classOf[ClosedByInterruptException],
        classOf[CancellationException],
        classOf[AbortedException]
      )
    ),
    // -- what the service says of requests
    Row(
      FaultKind(
        "KINESIS_THROTTLED",
        "The limits of the shard or the account are used up; others may be reading (or writing) the same shard."
      ),
      throttled,
      "5 GetRecords a second and 2 MB/s per shard are shared by all pollers.",
      codes = ThrottlingCodes
    ),
    Row(
      FaultKind("KINESIS_ITERATOR_EXPIRED", "The shard iterator is older than 5 minutes."),
      Fault.ExpiredIterator(_, _),
      "The position it was made from still holds.",
      codes = Set("ExpiredIteratorException")
    ),
    Row(
      FaultKind("KINESIS_PAGING_EXPIRED", "The paging token is older than 5 minutes."),
      Fault.ExpiredNextToken(_, _),
      "Pages from before may be out of date as well: all or nothing.",
      codes = Set("ExpiredNextTokenException")
    ),
    Row(
      FaultKind(
        "KINESIS_RESOURCE_IN_USE",
        "The stream isn't ACTIVE (it is being created, changed or deleted), or another application uses this consumer."
      ),
      Fault.ResourceInUse(_, _),
      "A stream is UPDATING for seconds to minutes. A subscription is refused within 5 s of the one before, and ended by one that takes over.",
      codes = Set("ResourceInUseException")
    ),
    Row(
      FaultKind(NotFound, "It doesn't exist in this account and region, or was deleted."),
      Fault.NotFound(_, _),
      "Stream, shard or consumer: the caller has to ask which, and must not take it for a shard's end.",
      codes = Set("ResourceNotFoundException")
    ),
    Row(
      FaultKind(
        "KINESIS_INVALID_ARGUMENT",
        "The service can't use an argument: a position outside the stream's retention, or of another stream or shard."
      ),
      Fault.InvalidArgument(_, _),
      "A stale iterator answers this as well. A subscription has none: its position stays what it is.",
      codes = Set("InvalidArgumentException")
    ),
    Row(
      FaultKind(
        RequestRefused,
        "The endpoint doesn't know this action. Is it Amazon Kinesis, and of a version that has the action?"
      ),
      fatal,
      "It says nothing of what was asked for: a smaller request is refused as well.",
      codes = Set("UnknownOperationException", "InvalidAction", "MissingAction", "MalformedQueryString")
    ),
    Row(
      FaultKind(RequestRefused, "The endpoint can't use the request. Is it Amazon Kinesis?"),
      invalid,
      "The same request is refused again; a smaller one of PutRecords may be taken.",
      codes = Set(
        "ValidationException",
        "ValidationError",
        "SerializationException",
        "MissingParameter",
        "InvalidParameterValue",
        "InvalidParameterCombination",
        "InvalidQueryParameter"
      )
    ),
    Row(
      FaultKind("KINESIS_UNAVAILABLE", "The service has trouble of its own; see the AWS Health Dashboard if it stays."),
      transient,
      "Said by code, or by an event inside a subscription.",
      codes = Set(
        "InternalFailure",
        "InternalFailureException",
        "InternalServerError",
        "InternalServerException",
        "InternalError",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "RequestTimeout",
        "RequestTimeoutException",
        "PriorRequestNotComplete"
      )
    ),
    Row(
      FaultKind("KINESIS_THROTTLED", "Too many requests."),
      throttled,
      "Whatever the code: 429 means wait.",
      statuses = 429 to 429
    ),
    Row(
      FaultKind("KINESIS_UNAVAILABLE", "The service, or a proxy before it, has trouble of its own."),
      transient,
      "Whatever the code: 5xx is the server's side.",
      statuses = 500 to 599
    ),
    Row(
      FaultKind("KINESIS_TIMED_OUT", "The service, or a proxy before it, waited too long for the request."),
      transient,
      "A slow network passes.",
      statuses = 408 to 408
    ),
    Row(
      FaultKind(
        RequestRefused,
        "The endpoint redirects to another address, which is never followed. Name the address itself."
      ),
      fatal,
      "Kinesis never redirects; a request is signed for its host, and data must not go where somebody points.",
      statuses = 300 to 399
    ),
    Row(
      FaultKind(RequestRefused, "The endpoint refused the request. Is it Amazon Kinesis?"),
      fatal,
      "Whatever the code: 4xx is our side. A proxy's 413 says nothing of a single record.",
      statuses = 400 to 499
    ),
    // -- the way there
    Row(
      FaultKind("KINESIS_UNKNOWN_HOST", "The host can't be found: check region, endpoint and DNS."),
      suspect,
      "DNS hiccups pass in seconds; a region or endpoint that isn't there doesn't.",
      classes = Seq(classOf[UnknownHostException])
    ),
    Row(
      FaultKind(
        "KINESIS_TLS_FAILED",
        "The TLS connection failed: check the endpoint's scheme and port, its certificate, and proxies between."
      ),
      suspect,
      "A certificate doesn't mend itself, a broken handshake may.",
      classes = Seq(classOf[SSLHandshakeException], classOf[SSLPeerUnverifiedException], classOf[NotSslRecordException])
    ),
    Row(
      FaultKind(
        "KINESIS_CONNECTIONS_EXHAUSTED",
        "All connections of this client are busy, or none can be made in time."
      ),
      transient,
      "More shards at once than the client has connections; calls wait for a while and fail only then.",
      saying = Some("Acquire operation took longer|Maximum pending connection acquisitions exceeded".r)
    ),
    Row(
      FaultKind(
        "KINESIS_PROXY_FAILED",
        "The proxy refused the connection, or broke it: check proxy, proxyUser and proxyPassword, whether it lets this host pass, and noProxy."
      ),
      suspect,
      "A proxy that restarts is back in seconds; a wrong password stays wrong. The SDK doesn't say what the proxy answered.",
      classes = Seq(classOf[IOException]),
      saying = Some("(?i)connect to proxy|request to proxy|proxy (channel|tunnel)".r)
    ),
    Row(
      FaultKind(
        "KINESIS_UNREACHABLE",
        "No connection to the endpoint: check endpoint, network, security groups and VPC endpoints."
      ),
      suspect,
      "A server that restarts is back in seconds; a wrong port or a closed network is not.",
      classes = Seq(classOf[ConnectException], classOf[NoRouteToHostException])
    ),
    Row(
      FaultKind("KINESIS_TIMED_OUT", "No answer in time."),
      disconnected,
      "Slow answers and dead connections; the next call takes another connection. A subscription that was not read for long ends so.",
      classes = Seq(
        classOf[TimeoutException],
        classOf[SocketTimeoutException],
        classOf[NettyTimeout],
        classOf[ApiCallAttemptTimeoutException],
        classOf[ApiCallTimeoutException]
      ),
      named = Set("PingFailedException")
    ),
    Row(
      FaultKind("KINESIS_CONNECTION_ENDING", "The service is about to close the connection."),
      disconnected,
      "GOAWAY is how a server that is replaced sends its clients to another; what is left of one connection after an error goes the same way.",
      named = Set("GoAwayException", "Http2ConnectionTerminatingException")
    ),
    Row(
      FaultKind(
        "KINESIS_ANSWER_DAMAGED",
        "The endpoint does not speak HTTP/2, which subscriptions need. Is it Kinesis, and no proxy before it ends TLS? Polling needs HTTP/1.1 alone."
      ),
      suspect,
      "A server, or a proxy that ends TLS before it, doesn't learn HTTP/2.",
      classes = Seq(classOf[Http2Exception]),
      saying = Some("(?i)unexpected HTTP/1|not SETTINGS".r)
    ),
    Row(
      FaultKind("KINESIS_CONNECTION_LOST", "The connection broke."),
      disconnected,
      "Reset (the whole of it, or one HTTP/2 stream) or closed before or inside the answer, which may then not parse; nothing was consumed, so the call can be made again.",
      classes = Seq(
        classOf[SocketException],
        classOf[ClosedChannelException],
        classOf[IOException],
        classOf[CodecException],
        classOf[Http2Exception]
      )
    ),
    Row(
      FaultKind("KINESIS_CONNECTION_LOST", "The answer was incomplete or damaged."),
      transient,
      "A body that was cut off parses as nothing.",
      classes = Seq(classOf[SdkClientException]),
      saying = Some("(?i)unable to (unmarshall|parse)|crc|content.?length|checksum".r)
    ),
    Row(
      FaultKind("KINESIS_CONNECTION_LOST", "An event was damaged on the way."),
      transient,
      "The SDK's decoder of event streams has no exception of its own for frames that don't add up.",
      classes = Seq(classOf[IllegalArgumentException]),
      saying = Some("(?i)checksum failure|illegal (headers|payload size)".r)
    ),
    Row(
      FaultKind(
        "KINESIS_ANSWER_DAMAGED",
        "The answer isn't what Amazon Kinesis would send. Is the endpoint Kinesis, and no proxy before it changes answers?"
      ),
      suspect,
      "Damage on the way passes; a server that is none doesn't.",
      classes = Seq(classOf[DamagedAnswer])
    ),
    Row(
      Failed,
      fatal,
      "The SDK wraps what is thrown while an answer is decoded as a request that could not be sent.",
      classes = Seq(classOf[Error])
    ),
    Row(
      FaultKind("KINESIS_CONNECTION_LOST", "The request could not be sent; see the cause."),
      suspect,
      "What the SDK says of anything below it that none of the rows above knows: mostly network, perhaps a bug.",
      classes = Seq(classOf[SdkClientException]),
      saying = Some("(?i)unable to execute http request".r)
    ),
    // -- this side
    Row(
      FaultKind(
        "KINESIS_NO_CREDENTIALS",
        "No AWS credentials were found. Set roleArn, profile, credentialsProvider or keys, or give the machine a role."
      ),
      suspect,
      "The instance's metadata service may not answer at once.",
      classes = Seq(classOf[SdkClientException]),
      saying = Some(
        "(?i)unable to load credentials|failed to load credentials|unable to retrieve|metadata service|credentials (for|from|in) profile|profile file contained no credentials".r
      )
    ),
    Row(
      Failed,
      fatal,
      "Unknown is not assumed to pass.",
      classes = Seq(classOf[Throwable])
    )
  )
}
