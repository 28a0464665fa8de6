package io.github.kinesisspark.aws

import java.io.{
  ByteArrayInputStream,
  ByteArrayOutputStream,
  EOFException,
  IOException,
  ObjectInputStream,
  ObjectOutputStream,
  UncheckedIOException
}
import java.net.{ConnectException, SocketException, SocketTimeoutException, UnknownHostException}
import java.util.concurrent.{CancellationException, CompletionException, ExecutionException, TimeoutException}
import javax.net.ssl.{SSLException, SSLHandshakeException}

import io.netty.handler.codec.PrematureChannelClosureException
import io.netty.handler.codec.http2.{Http2Error, Http2Exception}
import io.netty.handler.timeout.ReadTimeoutException
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.awscore.exception.{AwsErrorDetails, AwsServiceException}
import software.amazon.awssdk.core.exception.{AbortedException, ApiCallAttemptTimeoutException, SdkClientException}
import software.amazon.awssdk.services.kinesis.model.{KinesisException => SdkKinesisException, _}

class FaultClassifierTest extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def answer(
      code: String,
      status: Int = 400,
      message: String = "as scripted",
      service: String = "Kinesis"
  ): Throwable =
    SdkKinesisException
      .builder()
      .statusCode(status)
      .requestId("r-1")
      .awsErrorDetails(AwsErrorDetails.builder().errorCode(code).errorMessage(message).serviceName(service).build())
      .build()

  private def client(message: String, cause: Throwable = null): Throwable =
    SdkClientException.builder().message(message).cause(cause).build()

  /** An exception that the SDK's HTTP client keeps to itself. */
  private def sdkInternal(name: String, arguments: Any*): Throwable = {
    val made = Class
      .forName(s"software.amazon.awssdk.http.nio.netty.internal.$name")
      .getDeclaredConstructors
      .find(
        _.getParameterCount == arguments.size
      )
    made.foreach(_.setAccessible(true))
    made.get.newInstance(arguments.map(_.asInstanceOf[AnyRef])*).asInstanceOf[Throwable]
  }

  /** What each failure is: its fault and its stable name. */
  private val cases: Seq[(Throwable, String, String)] = Seq(
    (new InterruptedException, "Cancelled", "KINESIS_CALL_CANCELLED"),
    (new CancellationException, "Cancelled", "KINESIS_CALL_CANCELLED"),
    (AbortedException.builder().message("Thread was interrupted").build(), "Cancelled", "KINESIS_CALL_CANCELLED"),
    // The thread that waits for credentials is interrupted, not that of their provider.
    (
      client("Unable to load credentials", AbortedException.create("aborted", new InterruptedException)),
      "Cancelled",
      "KINESIS_CALL_CANCELLED"
    ),
    (
      new KinesisException(
        "KINESIS_CREDENTIALS_PROVIDER",
        "get() failed: java.util.concurrent.CancellationException",
        new CancellationException
      ),
      "Suspect",
      "KINESIS_CREDENTIALS_PROVIDER"
    ),
    (
      client(
        "failed",
        new KinesisException(
          "KINESIS_CREDENTIALS_PROVIDER",
          "get() failed: java.lang.InterruptedException: its own",
          new InterruptedException("its own")
        )
      ),
      "Suspect",
      "KINESIS_CREDENTIALS_PROVIDER"
    ),
    (
      NoCredentials.of("profile 'dev'", new IllegalStateException(new CancellationException)),
      "Suspect",
      "KINESIS_NO_CREDENTIALS"
    ),
    (
      client(
        "failed",
        new KinesisException("KINESIS_CREDENTIALS_PROVIDER", "get() failed: java.lang.IllegalStateException: sealed")
      ),
      "Suspect",
      "KINESIS_CREDENTIALS_PROVIDER"
    ),
    (
      client(
        "failed",
        new KinesisException("KINESIS_CREDENTIALS_PROVIDER", "get() failed: java.lang.LinkageError: no such class")
      ),
      "Fatal",
      "KINESIS_CREDENTIALS_PROVIDER"
    ),
    (new CredentialsTimeout("profile 'dev'", CredentialsCache.Patience), "Transient", "KINESIS_CREDENTIALS_TIMED_OUT"),
    (
      NoCredentials.of("profile 'dev'", new UncheckedIOException(new IOException("Is a directory"))),
      "Suspect",
      "KINESIS_NO_CREDENTIALS"
    ),
    (answer("", 307), "Fatal", "KINESIS_REQUEST_REFUSED"),
    (
      client("Unable to execute HTTP request: It is longer", new DamagedAnswer("It is longer")),
      "Suspect",
      "KINESIS_ANSWER_DAMAGED"
    ),
    (answer("AccessDenied", 403, service = "Sts"), "Fatal", "KINESIS_ROLE_REFUSED"),
    (answer("InvalidIdentityToken", 400, service = "Sts"), "Fatal", "KINESIS_ROLE_REFUSED"),
    (
      answer(
        "InvalidIdentityToken",
        400,
        "Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity documentation",
        service = "Sts"
      ),
      "Suspect",
      "KINESIS_ROLE_REFUSED"
    ),
    (answer("IDPCommunicationError", 400, service = "Sts"), "Suspect", "KINESIS_ROLE_REFUSED"),
    (answer("Throttling", 400, service = "Sts"), "Transient", "KINESIS_CREDENTIALS_THROTTLED"),
    (answer("TooManyRequestsException", 429, service = "Sso"), "Transient", "KINESIS_CREDENTIALS_THROTTLED"),
    (answer("", 429, service = "SsoOidc"), "Transient", "KINESIS_CREDENTIALS_THROTTLED"),
    (new KinesisException("KINESIS_CREDENTIALS_ALIAS", "there is none"), "Suspect", "KINESIS_CREDENTIALS_ALIAS"),
    (new KinesisException("KINESIS_LOGIN_REQUIRED", "expired"), "Fatal", "KINESIS_LOGIN_REQUIRED"),
    (
      client("Unable to load credentials from any of the providers in the chain: [[KINESIS_LOGIN_REQUIRED] expired]"),
      "Fatal",
      "KINESIS_LOGIN_REQUIRED"
    ),
    (answer("ForbiddenException", 403, service = "Sso"), "Fatal", "KINESIS_ROLE_REFUSED"),
    (
      client(
        "Unable to execute HTTP request: Could not connect to proxy",
        new IOException("Could not connect to proxy")
      ),
      "Suspect",
      "KINESIS_PROXY_FAILED"
    ),
    (answer("ValidationError", 400, service = "Sts"), "Fatal", "KINESIS_ROLE_REFUSED"),
    (answer("RequestExpired"), "Suspect", "KINESIS_CLOCK_SKEW"),
    (
      answer("InvalidSignatureException", 400, "Signature expired: 20260101T000000Z is now earlier than ..."),
      "Suspect",
      "KINESIS_CLOCK_SKEW"
    ),
    (answer("InvalidSignatureException", 400, "Signature not yet current: ..."), "Suspect", "KINESIS_CLOCK_SKEW"),
    (
      answer("InvalidSignatureException", 400, "The request signature we calculated does not match"),
      "Fatal",
      "KINESIS_CREDENTIALS_REJECTED"
    ),
    (answer("IncompleteSignature"), "Fatal", "KINESIS_CREDENTIALS_REJECTED"),
    (answer("ExpiredTokenException"), "Suspect", "KINESIS_CREDENTIALS_EXPIRED"),
    (answer("ExpiredToken", service = "Sts"), "Suspect", "KINESIS_CREDENTIALS_EXPIRED"),
    (answer("UnrecognizedClientException"), "Fatal", "KINESIS_CREDENTIALS_REJECTED"),
    (answer("InvalidClientTokenId", 403, service = "Sts"), "Fatal", "KINESIS_CREDENTIALS_REJECTED"),
    (answer("AccessDeniedException"), "Denied", "KINESIS_ACCESS_DENIED"),
    (answer("KMSThrottlingException"), "Transient", "KINESIS_KMS_THROTTLED"),
    (answer("KMSAccessDeniedException"), "Fatal", "KINESIS_KMS_DENIED"),
    (answer("KMSDisabledException"), "Fatal", "KINESIS_KMS_DENIED"),
    (answer("ProvisionedThroughputExceededException"), "Throttled", "KINESIS_THROTTLED"),
    (answer("LimitExceededException"), "Throttled", "KINESIS_THROTTLED"),
    (answer("ThrottlingException"), "Throttled", "KINESIS_THROTTLED"),
    (answer("Unknown", 429), "Throttled", "KINESIS_THROTTLED"),
    (answer("ExpiredIteratorException"), "ExpiredIterator", "KINESIS_ITERATOR_EXPIRED"),
    (answer("ExpiredNextTokenException"), "ExpiredNextToken", "KINESIS_PAGING_EXPIRED"),
    (answer("ResourceInUseException"), "ResourceInUse", "KINESIS_RESOURCE_IN_USE"),
    (answer("ResourceNotFoundException"), "NotFound", "KINESIS_NOT_FOUND"),
    (answer("InvalidArgumentException"), "InvalidArgument", "KINESIS_INVALID_ARGUMENT"),
    (answer("ValidationException"), "InvalidArgument", "KINESIS_REQUEST_REFUSED"),
    (answer("UnknownOperationException"), "Fatal", "KINESIS_REQUEST_REFUSED"),
    (answer("InternalFailure", 500), "Transient", "KINESIS_UNAVAILABLE"),
    (answer("Unknown", 503), "Transient", "KINESIS_UNAVAILABLE"),
    (answer(null, 502), "Transient", "KINESIS_UNAVAILABLE"),
    (answer(null, 404), "Fatal", "KINESIS_REQUEST_REFUSED"),
    (answer(null, 408), "Transient", "KINESIS_TIMED_OUT"),
    (answer(null, 413), "Fatal", "KINESIS_REQUEST_REFUSED"),
    (
      client("Received an UnknownHostException", new UnknownHostException("kinesis.eu-nowhere-1.amazonaws.com")),
      "Suspect",
      "KINESIS_UNKNOWN_HOST"
    ),
    (
      client("Unable to execute HTTP request", new SSLHandshakeException("PKIX path building failed")),
      "Suspect",
      "KINESIS_TLS_FAILED"
    ),
    (
      client("Unable to execute HTTP request", new SSLException("closing inbound before receiving close_notify")),
      "Disconnected",
      "KINESIS_CONNECTION_LOST"
    ),
    (
      client("Unable to execute HTTP request: Acquire operation took longer than the configured maximum time"),
      "Transient",
      "KINESIS_CONNECTIONS_EXHAUSTED"
    ),
    (
      client("Unable to execute HTTP request", new ConnectException("Connection refused")),
      "Suspect",
      "KINESIS_UNREACHABLE"
    ),
    (ReadTimeoutException.INSTANCE, "Disconnected", "KINESIS_TIMED_OUT"),
    (sdkInternal("http2.PingFailedException", "no answer"), "Disconnected", "KINESIS_TIMED_OUT"),
    (sdkInternal("http2.GoAwayException", 0L, "bye"), "Disconnected", "KINESIS_CONNECTION_ENDING"),
    (
      client("Unable to execute", sdkInternal("http2.Http2ConnectionTerminatingException", "an I/O error")),
      "Disconnected",
      "KINESIS_CONNECTION_ENDING"
    ),
    (
      sdkInternal("http2.Http2ToHttpInboundAdapter$Http2ResetException", 8L),
      "Disconnected",
      "KINESIS_CONNECTION_LOST"
    ),
    (
      new Http2Exception(Http2Error.PROTOCOL_ERROR, "First received frame was not SETTINGS."),
      "Suspect",
      "KINESIS_ANSWER_DAMAGED"
    ),
    (new Http2Exception(Http2Error.PROTOCOL_ERROR, "bad frame"), "Disconnected", "KINESIS_CONNECTION_LOST"),
    (new PrematureChannelClosureException, "Disconnected", "KINESIS_CONNECTION_LOST"),
    (new TimeoutException, "Disconnected", "KINESIS_TIMED_OUT"),
    (new SocketTimeoutException, "Disconnected", "KINESIS_TIMED_OUT"),
    (ApiCallAttemptTimeoutException.create(10L), "Disconnected", "KINESIS_TIMED_OUT"),
    (
      client("Unable to execute HTTP request", new SocketException("Connection reset")),
      "Disconnected",
      "KINESIS_CONNECTION_LOST"
    ),
    (
      client("Unable to execute HTTP request", new IOException("The connection was closed during the request")),
      "Disconnected",
      "KINESIS_CONNECTION_LOST"
    ),
    (new EOFException, "Disconnected", "KINESIS_CONNECTION_LOST"),
    (
      new IllegalArgumentException("Message checksum failure: expected 0x1, computed 0x2"),
      "Transient",
      "KINESIS_CONNECTION_LOST"
    ),
    (client("Unable to unmarshall response (Unexpected end-of-input)"), "Transient", "KINESIS_CONNECTION_LOST"),
    (
      client("Unable to load credentials from any of the providers in the chain"),
      "Suspect",
      "KINESIS_NO_CREDENTIALS"
    ),
    (
      new IllegalArgumentException("Illegal headers: they end beyond the message"),
      "Transient",
      "KINESIS_CONNECTION_LOST"
    ),
    (new DamagedAnswer("It has no Shards"), "Suspect", "KINESIS_ANSWER_DAMAGED"),
    (client("Maximum pending connection acquisitions exceeded."), "Transient", "KINESIS_CONNECTIONS_EXHAUSTED"),
    (client("Unable to execute HTTP request: null"), "Suspect", "KINESIS_CONNECTION_LOST"),
    (client("Failed to connect to the metadata service"), "Suspect", "KINESIS_NO_CREDENTIALS"),
    (
      client("Unable to execute HTTP request: Java heap space", new OutOfMemoryError("Java heap space")),
      "Fatal",
      "KINESIS_CALL_FAILED"
    ),
    (client("who knows"), "Fatal", "KINESIS_CALL_FAILED"),
    (new IllegalStateException("a bug"), "Fatal", "KINESIS_CALL_FAILED")
  )

  test("each failure gets its fault and error class of the table") {
    for ((failure, expected, errorClass) <- cases) {
      val fault = FaultClassifier.classify(failure)
      assert((fault.productPrefix, fault.kind.errorClass) == (expected, errorClass), failure)
    }
  }

  /** Exceptions that come as events of a subscription, without the details of an HTTP answer. */
  private val events: Seq[AwsServiceException] = Seq(
    ResourceInUseException.builder.message("taken over").build,
    LimitExceededException.builder.build,
    ResourceNotFoundException.builder.build,
    InternalFailureException.builder.build,
    KmsThrottlingException.builder.build,
    KmsAccessDeniedException.builder.build,
    KmsDisabledException.builder.build,
    KmsInvalidStateException.builder.build,
    KmsNotFoundException.builder.build,
    KmsOptInRequiredException.builder.build,
    AccessDeniedException.builder.build,
    InvalidArgumentException.builder.build,
    ValidationException.builder.build
  )

  test("an exception event gets the same error kind as an HTTP answer of that code") {
    for (event <- events) {
      val coded = FaultClassifier.classify(answer(event.getClass.getSimpleName.replace("Kms", "KMS")))
      val fault = FaultClassifier.classify(new CompletionException(event))
      assert((fault.productPrefix, fault.kind) == (coded.productPrefix, coded.kind), event)
    }
  }

  test("an Error in the SDK's threads is a reason to read elsewhere, and no outage") {
    val failure = client("Unable to execute HTTP request: Java heap space", new OutOfMemoryError("Java heap space"))
    assert(FailureReason.of(FaultClassifier.classify(failure)) == FailureReason.BrokenJvm)
  }

  test("wrapping exceptions of futures are removed and don't change the result") {
    val wrap = Gen.oneOf(
      Seq[Throwable => Throwable](
        new CompletionException(_),
        new ExecutionException(_),
        new RuntimeException("Unexpected", _)
      )
    )
    forAll(Gen.oneOf(cases), Gen.listOfN(3, wrap)) { case ((failure, expected, errorClass), wrappers) =>
      val fault = FaultClassifier.classify(wrappers.foldLeft(failure)((e, w) => w(e)))
      assert((fault.productPrefix, fault.kind.errorClass) == (expected, errorClass))
      assert(!fault.cause.isInstanceOf[CompletionException] && !fault.cause.isInstanceOf[ExecutionException])
    }
  }

  test("every row of the fault table is covered by a case of this suite") {
    val reached = cases.map { case (failure, _, _) => FaultClassifier.classify(failure).kind }.toSet
    FaultTable.rows.foreach(row => assert(reached(row.kind), row))
  }

  test("every row of the fault table has an error class, advice and a reason") {
    FaultTable.rows.foreach { row =>
      assert(row.kind.errorClass.matches("KINESIS_[A-Z_]+"))
      assert(row.kind.advice.matches("[A-Z].*[.?]") && row.reason.nonEmpty)
    }
  }

  test("the last row of the fault table matches every exception") {
    val last = FaultTable.rows.last
    assert(last.codes.isEmpty && last.named.isEmpty && last.saying.isEmpty && last.classes == Seq(classOf[Throwable]))
  }

  test("a cyclic chain of causes is classified as fatal") {
    val outer = new RuntimeException("outer")
    outer.initCause(new RuntimeException("inner", outer))
    assert(FaultClassifier.classify(outer).productPrefix == "Fatal")
  }

  test("an error of a denied call names action, resource, answer, advice and attempts") {
    val denied = FaultClassifier.classify(
      new CompletionException(answer("AccessDeniedException", 400, "User: x is not authorized"))
    )
    val e = KinesisFault.exception(AwsCall.GetRecords, "events/shardId-000000000003", denied, attempts = 2)
    assert(e.errorClass == "KINESIS_ACCESS_DENIED")
    assert(
      e.getMessage == "[KINESIS_ACCESS_DENIED] GetRecords failed for events/shardId-000000000003: " +
        "AccessDeniedException (Kinesis, HTTP 400, request r-1): User: x is not authorized. " +
        "The credentials' policy, or the stream's, must allow kinesis:GetRecords on this resource. Tried 2 times. " +
        "(See docs/reference/errors.md#kinesis_access_denied)"
    )
    assert(e.getCause.isInstanceOf[AwsServiceException])
  }

  test("an error of a denied call names principal, resource and the missing action, however long their names are") {
    val principal = s"arn:aws:sts::111122223333:assumed-role/${"r" * 64}/${"s" * 64}"
    val stream    = s"arn:aws:kinesis:eu-west-1:111122223333:stream/${"n" * 128}/consumer/${"c" * 128}:1525898737"
    val refusal   =
      s"User: $principal is not authorized to perform: kinesis:TagResource on resource: $stream because no " +
        "identity-based policy allows the kinesis:TagResource action"
    val denied  = FaultClassifier.classify(answer("AccessDeniedException", 400, refusal))
    val message = KinesisFault.describe(AwsCall.RegisterStreamConsumer, "consumer app", denied)
    assert(message.startsWith("RegisterStreamConsumer failed for consumer app: ") && message.contains(refusal))
    assert(message.contains("must allow kinesis:TagResource on this resource"))
  }

  test("an error of an unknown host names the host and the region to check") {
    val e = KinesisFault.exception(
      AwsCall.ListShards,
      "events",
      FaultClassifier.classify(new UnknownHostException("kinesis.eu-nowhere-1.amazonaws.com"))
    )
    assert(e.getMessage.contains("kinesis.eu-nowhere-1.amazonaws.com") && e.getMessage.contains("check region"))
  }

  test("an error of a failed TLS handshake contains its root cause") {
    val handshake = new SSLHandshakeException("General OpenSslEngine problem")
    handshake.initCause(new java.security.cert.CertificateException("certificate has expired"))
    val text =
      KinesisFault.describe(AwsCall.ListShards, "events", FaultClassifier.classify(new CompletionException(handshake)))
    assert(
      text.contains(
        "SSLHandshakeException: General OpenSslEngine problem (CertificateException: certificate has expired)"
      )
    )
  }

  test("an exception keeps class, message and cause after Java serialization") {
    val e =
      KinesisFault.exception(AwsCall.GetRecords, "events", FaultClassifier.classify(answer("AccessDeniedException")))
    val bytes = new ByteArrayOutputStream
    new ObjectOutputStream(bytes).writeObject(e)
    val copy =
      new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[KinesisException]
    assert(
      copy.errorClass == e.errorClass && copy.reason == FailureReason.AccessDenied && copy.getMessage == e.getMessage && copy.getCause != null
    )
  }

  test("an error of a wrong signature leaves out the request, which contains the session token") {
    val text =
      "The request signature we calculated does not match.\n\nThe Canonical String was\nx-amz-security-token:PLANTED\n"
    val fault = FaultClassifier.classify(answer("InvalidSignatureException", 400, text))
    val e     = KinesisFault.exception(AwsCall.ListShards, "events", fault)
    val trace = new java.io.StringWriter
    e.printStackTrace(new java.io.PrintWriter(trace))
    assert(e.getMessage.contains("does not match") && !trace.toString.contains("PLANTED"))
  }
}
