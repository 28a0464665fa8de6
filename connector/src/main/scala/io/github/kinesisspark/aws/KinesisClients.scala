package io.github.kinesisspark.aws

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Proxy}
import java.util.concurrent.{CompletableFuture, Executor}

import io.github.kinesisspark.config.{CallRetries, ClientOptions, CredentialsOptions}
import io.github.kinesisspark.runtime.{Closing, Runtime}
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy
import software.amazon.awssdk.core.interceptor.{Context, ExecutionAttributes, ExecutionInterceptor}
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import scala.annotation.tailrec
import scala.concurrent.duration._

/** A client on loan. Closing it, once or more often, gives it back.
  *
  * @param retries how its calls are retried: the client itself doesn't, because [[RetryPolicy]] decides that for every call
  * @param isAws   whether it calls AWS itself
  */
final class ClientLease private[aws] (
    lease: SharedPool[KinesisClients.Key, KinesisClients.SharedClient]#Lease,
    val retries: CallRetries,
    val isAws: Boolean
) extends AutoCloseable {
  private val success = lease.value.success

  /** Valid until this lease is closed. */
  def client: KinesisAsyncClient = lease.value.client

  /** Whether a call of this client, or of an earlier one of equal options, has succeeded in this JVM, so that its address and credentials are no
    * mistake.
    */
  def hasWorked: Boolean = success.isThere

  /** Records that a call has succeeded which the SDK doesn't count: a subscription that is open, or another executor's. */
  def succeeded(): Unit = success.happened()

  override def close(): Unit = lease.close()
}

/** The Kinesis clients of one process: one per equal [[KinesisClients.Key]], shared by all queries, shards and tasks that ask for it, because
  * each has its own connections and credentials.
  *
  * @param open makes a client
  */
final class KinesisClients private[kinesisspark] (open: KinesisClients.Open)(implicit val runtime: Runtime) {
  import KinesisClients._

  /** Of the queries whose driver this process is. */
  private[kinesisspark] val claims = new ConsumerClaims

  private val successes = new Successes

  private lazy val shared = new SharedPool[Key, SharedClient](
    make,
    IdleTime,
    runtime.workers.fixed("kinesis-client-closer", 1)
  )

  private[aws] def make(key: Key): SharedClient = open(key, successes.of(key))

  /** A client for these options; the first lease makes it, the last one's end closes it after a while.
    *
    * @param region as [[Regions.resolve]] found it
    * @throws KinesisException `KINESIS_CA_BUNDLE` for a file that can't be used, `KINESIS_UNKNOWN_HOST` for an endpoint of the machine without a host
    */
  def lease(options: ClientOptions, region: String, kind: ClientKind = ClientKind.Calls): ClientLease = {
    val located = Endpoints.located(options)
    val isAws   = Regions.isAws(located.endpoint, region)
    new ClientLease(shared.lease(Key(located, region, kind, classesOf(options.credentials))), options.retries, isAws)
  }
}

object KinesisClients {

  /** How long a client without leases stays open: micro-batches take leases again and again. */
  val IdleTime: FiniteDuration = 60.seconds

  lazy val ofJvm: KinesisClients = {
    implicit val runtime: Runtime = Runtime.ofJvm
    val threads                   = runtime.workers.growing("kinesis-credentials")
    new KinesisClients(make(threads, CredentialsCache.Patience))
  }

  /** What those have in common that share a client.
    *
    * @param classes where the class of the user's is found whose credentials they have, if they have one's: each session of Spark Connect has its own JARs
    */
  private[kinesisspark] final case class Key(
      options: ClientOptions,
      region: String,
      kind: ClientKind,
      classes: Option[ClassLoader] = None
  )

  @tailrec private def classesOf(credentials: CredentialsOptions): Option[ClassLoader] = credentials match {
    case _: CredentialsOptions.ProviderClass             => Option(Thread.currentThread.getContextClassLoader)
    case CredentialsOptions.AssumeRole(base, _, _, _, _) => classesOf(base)
    case _                                               => None
  }

  /** Makes a client of the SDK, which says of its first success. */
  private[kinesisspark] type Open = (Key, Success) => SharedClient

  /** A client and what must go with it. */
  private[kinesisspark] final class SharedClient(
      val client: KinesisAsyncClient,
      val success: Success,
      credentials: AutoCloseable
  ) extends AutoCloseable {
    override def close(): Unit = Closing.all(client, credentials)
  }

  /** @param threads  which resolve credentials
    * @param patience how long a call waits for its credentials
    */
  private[kinesisspark] def make(threads: Executor, patience: FiniteDuration)(key: Key, success: Success)(implicit
      runtime: Runtime
  ): SharedClient = {
    import key.{kind, options, region}
    val http    = kind.http(options.endpoint, options.connection)
    val cache   = CredentialsCache(options.credentials, region, options.connection, options.endpoint, threads, patience)
    val builder =
      KinesisAsyncClient.builder().region(Region.of(region)).credentialsProvider(cache).httpClientBuilder(http)
    ClientKind.configure(builder, options.endpoint, options.connection)
    // No limit on the time of a whole call here: it would end subscriptions.
    val overrides = ClientKind
      .named(options.connection)
      .toBuilder
      .retryStrategy(AwsRetryStrategy.doNotRetry())
      .addExecutionInterceptor(success)
      .addExecutionInterceptor(ResponseFilter.Interceptor)
    // Otherwise the SDK looks for an endpoint in the default profile.
    Regions.profileOf(options.credentials).foreach(overrides.defaultProfileName(_))
    builder.overrideConfiguration(overrides.build())
    new SharedClient(withCredentials(builder.build(), cache), success, cache)
  }

  /** The client, with each call made once there are credentials for it. The SDK has no class that wraps this client. */
  private def withCredentials(client: KinesisAsyncClient, credentials: CredentialsCache): KinesisAsyncClient = {
    val handler: InvocationHandler = (_, method, arguments) => {
      def call(): AnyRef =
        try method.invoke(client, Option(arguments).toSeq.flatten: _*)
        catch { case e: InvocationTargetException => throw e.getCause }
      if (method.getReturnType != classOf[CompletableFuture[_]]) call()
      else credentials.before(() => call().asInstanceOf[CompletableFuture[AnyRef]])
    }
    val kind = classOf[KinesisAsyncClient]
    kind.cast(Proxy.newProxyInstance(kind.getClassLoader, Array[Class[_]](kind), handler))
  }

  /** Which clients have worked. It outlives them: a query with a slow trigger has a client of its own in each batch, and an endpoint that fails for a while
    * when one begins is no mistake.
    */
  private final class Successes {
    private val known = new java.util.LinkedHashMap[Key, Success](16, 0.75f, true) {
      override def removeEldestEntry(eldest: java.util.Map.Entry[Key, Success]): Boolean = size > MostKnown
    }

    /** Of a key without its class loader, which must not be kept. */
    def of(key: Key): Success = synchronized(known.computeIfAbsent(key.copy(classes = None), _ => new Success))
  }

  /** More than any JVM has at a time; the longest unused are forgotten. */
  private val MostKnown = 1000

  /** Waits for the first call to succeed. */
  private[kinesisspark] final class Success extends ExecutionInterceptor {
    @volatile private var seen = false

    def isThere: Boolean = seen

    def happened(): Unit = seen = true

    override def afterExecution(context: Context.AfterExecution, attributes: ExecutionAttributes): Unit = happened()
  }
}
