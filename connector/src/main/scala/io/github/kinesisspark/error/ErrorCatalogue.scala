package io.github.kinesisspark.error

import java.util.Locale

/** An error class: the stable name that a message begins with, and that monitoring matches on.
  *
  * @param cause  what leads to it
  * @param advice what to do
  */
final case class ErrorEntry(name: String, meaning: String, cause: String, advice: String)

/** Every error class of the connector, once. docs/reference/errors.md is made of it, and each message names its section there. */
object ErrorCatalogue {
  private val IfOnePositionFails =
    "If the same position of a shard fails each time, [continue past it](../how-to/batch.md#continuing-past-a-position-that-cant-be-read)."

  /** The place of an error class in the documentation, as messages name it. */
  def link(errorClass: String): String = s"docs/reference/errors.md#${errorClass.toLowerCase(Locale.ROOT)}"

  /** The end of a message. */
  def suffix(errorClass: String): String = s" (See ${link(errorClass)})"

  val entries: Seq[ErrorEntry] = Seq(
    // -- options and columns
    ErrorEntry(
      "KINESIS_INVALID_OPTION",
      "Options are unknown, contradict each other or have values that can't be right.",
      "A typing error, mostly; the message lists every problem and names the nearest option.",
      "Correct the options that the message names."
    ),
    ErrorEntry(
      "KINESIS_NO_REGION",
      "The stream's region is not known.",
      "Neither the options nor the machine's AWS configuration has a region, and the stream is named without its ARN.",
      "Set `region`, name the stream by `streamArn`, or set AWS_REGION."
    ),
    ErrorEntry(
      "KINESIS_SINK_SCHEMA",
      "The rows have columns that a sink can't write.",
      "A column is missing, has another type or another name; a source's `streamName` is refused, too.",
      "Select `data`, and if need be `partitionKey`, `explicitHashKey` and `targetStream`, alone."
    ),
    ErrorEntry(
      "KINESIS_OFFSET_REFUSED",
      "A checkpoint or position can't be used.",
      "It is of another stream, another connector or a later release, was edited, or ends before it starts.",
      "Use the checkpoint with the streams that it began with, or begin with [a new one](../how-to/upgrading.md#a-new-checkpoint): its batches are numbered from 0, which a " +
        "sink may take for batches it has."
    ),
    ErrorEntry(
      "KINESIS_TOO_FEW_CORES",
      "Tasks of real-time batches find no free core.",
      "In real-time mode each task keeps a core for the whole batch.",
      "Give the query as many cores as it has tasks, or less work beside it."
    ),
    ErrorEntry(
      "KINESIS_WRONG_JAR",
      "The connector's JAR is for another Spark or another Scala, or there are JARs of two versions.",
      "There is a JAR for each line of Spark; Spark 3.5 mostly has Scala 2.12, Spark 4 has 2.13. Of two versions one mostly came with an image or a cluster's " +
        "library, the other with the program.",
      "Take the JAR that the message names. Of two, leave one: the same on the driver and on all executors."
    ),
    // -- credentials and permissions
    ErrorEntry(
      "KINESIS_NO_CREDENTIALS",
      "No AWS credentials were found.",
      "No role, profile, environment variable or option has any, or their source (a class, a program, the instance's metadata service) didn't answer. " +
        "Calls are repeated for `maxRetryDuration`, but only five times before any call of the client has succeeded.",
      "Set `roleArn`, `profile` or `credentialsProvider`, or give the machine a role. `kinesis-spark doctor` shows what is found."
    ),
    ErrorEntry(
      "KINESIS_CREDENTIALS_PROVIDER",
      "The class that `credentialsProvider` names has failed.",
      "The class isn't on the class path of driver and executors, or what it asks doesn't answer.",
      "See the error of the class in the message."
    ),
    ErrorEntry(
      "KINESIS_CREDENTIALS_TIMED_OUT",
      "Credentials did not come in time.",
      "What gives them (STS, a process, a class of your own) doesn't answer. A call waits 30 seconds for them, and is repeated for `maxRetryDuration`.",
      "Check what the message names. Give a class or a process of your own time limits: its threads can't be ended from outside."
    ),
    ErrorEntry(
      "KINESIS_CREDENTIALS_THROTTLED",
      "The service that gives the credentials (STS, or IAM Identity Center) gets more requests than its quota.",
      "Many executors begin at once, or others in the account ask it as often. Calls are repeated for `maxRetryDuration`.",
      "Start fewer executors at a time, or raise the quota."
    ),
    ErrorEntry(
      "KINESIS_CREDENTIALS_ALIAS",
      "A key or a proxy's password that is given as `alias:<name>` can't be looked up.",
      "Hadoop's credential providers have no such name, or can't be read from this machine.",
      "Check `hadoop.security.credential.provider.path` on the driver and the executors (`spark.hadoop.` sets it), and `hadoop credential list`."
    ),
    ErrorEntry(
      "KINESIS_LOGIN_REQUIRED",
      "The profile's login has expired, or there is none.",
      "A login with `aws sso login` or `aws login` is renewed for as long as AWS allows; then only the person can log in again.",
      "Run the command that the message names on the driver and all executors, and start the query again."
    ),
    ErrorEntry(
      "KINESIS_CREDENTIALS_EXPIRED",
      "The credentials have expired.",
      "Static session tokens aren't renewed.",
      "Use a kind that is refreshed: `roleArn`, `profile` or `credentialsProvider`."
    ),
    ErrorEntry(
      "KINESIS_CREDENTIALS_REJECTED",
      "The service doesn't know the credentials, or the signature is wrong.",
      "The keys are wrong, deleted or of another partition, or the region isn't the endpoint's.",
      "Check the keys and the region."
    ),
    ErrorEntry(
      "KINESIS_CLOCK_SKEW",
      "This machine's clock differs too much from the service's.",
      "Requests are signed with the time; 5 minutes are allowed.",
      "Correct the clock, with NTP for example."
    ),
    ErrorEntry(
      "KINESIS_ROLE_REFUSED",
      "The role can't be assumed.",
      "Its trust policy doesn't allow the caller, asks for another external ID, or the caller has no sts:AssumeRole. A role of SSO isn't assigned to the person who logged in.",
      "Correct the trust policy, the caller's permissions or the assignment."
    ),
    ErrorEntry(
      "KINESIS_ACCESS_DENIED",
      "A permission is missing.",
      "The policy of the credentials, or of the stream, doesn't allow the action that the message names.",
      "Allow it on that resource. `kinesis-spark iam` prints the whole policy."
    ),
    ErrorEntry(
      "KINESIS_KMS_DENIED",
      "The stream is encrypted, and its key can't be used.",
      "kms:Decrypt (reading) or kms:GenerateDataKey (writing) is missing, or the key is disabled or deleted.",
      "Allow the action on the key, or enable the key."
    ),
    ErrorEntry(
      "KINESIS_KMS_THROTTLED",
      "The stream's KMS key gets more requests than its quota.",
      "Many readers and writers share the key.",
      "Raise the quota, or use several keys."
    ),
    // -- streams, shards and consumers
    ErrorEntry(
      "KINESIS_NOT_FOUND",
      "The stream, shard or stream consumer doesn't exist.",
      "Its name, region or account is another one, or it was deleted.",
      "Check name, `region` and credentials. For a stream that was created again, see " +
        "[other streams](../how-to/upgrading.md#more-fewer-or-other-streams)."
    ),
    ErrorEntry(
      "KINESIS_RESOURCE_IN_USE",
      "The stream isn't ACTIVE, or another reader uses the consumer.",
      "The stream is being created, changed or deleted for longer than calls are retried.",
      "Wait until it is ACTIVE."
    ),
    ErrorEntry(
      "KINESIS_DATA_LOSS",
      "Records were removed before the query had read them.",
      "The query stood still, or was behind, for longer than the stream's retention.",
      "Decide: `failOnDataLoss` = `false` reads on from the oldest records that are left. Longer retention prevents it."
    ),
    ErrorEntry(
      "KINESIS_CONSUMER_IN_USE",
      "Another query reads through this stream consumer.",
      "Two queries have one `efo.consumerName`.",
      "Give each query a name of its own."
    ),
    ErrorEntry(
      "KINESIS_CONSUMER_QUOTA",
      "The stream has as many consumers as it may have.",
      "Consumers of other applications, or some that were left behind.",
      "Deregister one that nothing reads through. `kinesis-spark consumers` lists them."
    ),
    ErrorEntry(
      "KINESIS_CONSUMER_NOT_READY",
      "The consumer stayed CREATING or DELETING for too long.",
      "The service takes longer than calls are retried.",
      "Try again later, or raise `maxRetryDuration`."
    ),
    ErrorEntry(
      "KINESIS_CONSUMER_MISMATCH",
      "The ARN of a consumer is of another stream.",
      "`efo.consumerArn.<stream>` names a stream of that name in another region or account.",
      "Give the ARN of one of this stream's consumers."
    ),
    ErrorEntry(
      "KINESIS_SUBSCRIPTION_SILENT",
      "Subscriptions are opened and bring nothing, not even empty events.",
      "A proxy or firewall holds HTTP/2 streams back.",
      "Let HTTP/2 pass, or poll."
    ),
    ErrorEntry(
      "KINESIS_THROTTLED",
      "A limit of the shard or the account is used up for longer than calls are retried.",
      "Others read, write or list the same stream. Reading shards is retried without end.",
      "Spread the load, add shards, or use enhanced fan-out."
    ),
    ErrorEntry(
      "KINESIS_ITERATOR_EXPIRED",
      "A shard iterator is older than 5 minutes.",
      "A pause of the process. The connector makes a new one.",
      "Nothing; if it ends a query, report it."
    ),
    ErrorEntry(
      "KINESIS_PAGING_EXPIRED",
      "A paging token is older than 5 minutes.",
      "A pause of the process. The connector lists again.",
      "Nothing; if it ends a query, report it."
    ),
    ErrorEntry(
      "KINESIS_INVALID_ARGUMENT",
      "The service can't use an argument.",
      "A position is outside the stream's retention, or of another stream or shard.",
      "Check `startingPosition` and the checkpoint."
    ),
    // -- writing
    ErrorEntry(
      "KINESIS_BAD_RECORD",
      "A row can never be written.",
      "Its data is null or too large, or its key, hash key or stream name can't be one.",
      "Correct the row or leave it out; `badRecords` = `skip` counts such rows and continues."
    ),
    ErrorEntry(
      "KINESIS_WRITE_TIMED_OUT",
      "A row could not be written for longer than `maxRetryDuration`.",
      "A shard gets more than 1,000 records or 1 MiB a second, or all calls with the row failed; then the message has the last failure.",
      "Spread the keys, add shards, remove the cause of the failure, or allow more time."
    ),
    // -- the service and the way to it
    ErrorEntry(
      "KINESIS_UNAVAILABLE",
      "The service has trouble of its own.",
      "It answered HTTP 5xx for longer than `maxRetryDuration`.",
      "See the AWS Health Dashboard; restart the query, which continues where it was."
    ),
    ErrorEntry(
      "KINESIS_UNKNOWN_HOST",
      "The endpoint's host can't be found.",
      "The region or endpoint doesn't exist, or DNS fails.",
      "Check `region`, `endpoint` and DNS."
    ),
    ErrorEntry(
      "KINESIS_UNREACHABLE",
      "No connection to the endpoint.",
      "A closed network, security group or VPC endpoint, or a wrong port.",
      "Check the network between this machine and the endpoint."
    ),
    ErrorEntry(
      "KINESIS_TLS_FAILED",
      "The TLS connection failed.",
      "The endpoint doesn't speak TLS, its certificate isn't trusted, or a proxy is between.",
      "Check the endpoint's scheme, port and certificate. `caBundle` names certificates of your own to trust."
    ),
    ErrorEntry(
      "KINESIS_CA_BUNDLE",
      "The file that `caBundle` names can't be used.",
      "It isn't on this machine, can't be read, or has no certificates in PEM.",
      "Put the PEM file in the same place on the driver and all executors."
    ),
    ErrorEntry(
      "KINESIS_PROXY_FAILED",
      "The proxy refused the connection, or broke it.",
      "It asks for a user and password, or doesn't let the host pass.",
      "Check `proxy`, `proxyUser`, `proxyPassword` and `noProxy`, and the proxy's log, which says why."
    ),
    ErrorEntry(
      "KINESIS_TIMED_OUT",
      "No answer in time.",
      "A slow network or service, for longer than calls are retried.",
      "Check the network; restart the query."
    ),
    ErrorEntry(
      "KINESIS_CONNECTION_LOST",
      "The connection broke, or an answer came damaged.",
      "The network, a proxy or the service ended it, again and again.",
      s"Check proxies and the network. Restart the query; it continues where it was. $IfOnePositionFails"
    ),
    ErrorEntry(
      "KINESIS_CONNECTION_ENDING",
      "The service is about to close the connection.",
      "A server is replaced. The next call takes another connection.",
      "Nothing; if it ends a query, report it."
    ),
    ErrorEntry(
      "KINESIS_CONNECTIONS_EXHAUSTED",
      "All connections of a client are busy.",
      "More shards at once than the client has connections, or calls that hang.",
      "Use more executors; check the network."
    ),
    ErrorEntry(
      "KINESIS_ANSWER_DAMAGED",
      "An answer isn't what Amazon Kinesis would send.",
      "The endpoint isn't Kinesis, or a proxy changes answers. The message names the shard and the position after which it could not be read.",
      s"Check the endpoint and proxies. Restart the query; it continues at that position. $IfOnePositionFails"
    ),
    ErrorEntry(
      "KINESIS_REQUEST_REFUSED",
      "The endpoint refused the request.",
      "It isn't Amazon Kinesis, or of a version without the action.",
      "Check the endpoint."
    ),
    ErrorEntry("KINESIS_CALL_CANCELLED", "A call was cancelled.", "The query is being stopped.", "Nothing."),
    ErrorEntry(
      "KINESIS_CALL_FAILED",
      "A call failed for a reason that has no class of its own.",
      "See the message and its cause.",
      "Report it, with the stack trace."
    )
  )

  /** The table of docs/reference/errors.md: a chapter for each class, so that messages can link to it. */
  def markdown: String =
    entries
      .sortBy(_.name)
      .map(e => s"## ${e.name}\n\n${e.meaning}\n\n- **Cause.** ${e.cause}\n- **What to do.** ${e.advice}\n")
      .mkString("\n")
}
