package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.{ConsumerDelays, Quota}

import scala.concurrent.duration._

/** Everything a server can be started with. The defaults are a service without limits, delays or TLS.
  *
  * @param port the cleartext port (HTTP/1.1 and HTTP/2 with prior knowledge); 0 takes a free one
  * @param tlsPort the TLS port with ALPN, if there shall be one; 0 takes a free one
  * @param tls a TLS port without ALPN, and the certificate of both
  * @param enforceLimits whether calls are refused as the service's quotas have it
  * @param shardLimit open shards of all streams together, as the account's quota
  * @param seed of the gaps between sequence numbers, of arrival times that go back, and of the order of a PutRecords
  * @param createDelay how long a stream is CREATING
  * @param updateDelay how long a stream is UPDATING after a reshard or a change of retention
  * @param deleteDelay how long a stream is DELETING before it is gone
  * @param consumerDelays how long a registered consumer is CREATING and DELETING, and how listings of it lag
  * @param requireSignature whether a call without an Authorization header is refused, and with `accounts` one whose
  *   signature is wrong
  * @param accounts the accounts whose access keys are accepted, `accountId` among them; if there are none, any
  *   credentials do and are those of `accountId`
  * @param control how listings lag, when reshards take effect, what on-demand streams refuse
  * @param futureTimestamps what AT_TIMESTAMP later than now does
  * @param reads how GetRecords and SubscribeToShard find records
  * @param http how HTTP/2 connections live
  * @param subscriptions how SubscribeToShard's subscriptions live
  * @param reorderPutRecords whether the records of one PutRecords are stored in an order that the seed decides
  * @param putRecordsBytes what a PutRecords may have with its keys: 5 MiB until 2025
  * @param recentCalls how many requests the call log remembers one by one
  */
final case class KinesisServerConfig(
    port: Int = 0,
    host: String = "127.0.0.1",
    tlsPort: Option[Int] = None,
    tls: TlsSettings = TlsSettings(),
    region: String = "us-east-1",
    accountId: String = "000000000000",
    enforceLimits: Boolean = false,
    shardLimit: Int = 100000,
    clock: ServiceClock = ServiceClock.system,
    seed: Long = 0,
    createDelay: FiniteDuration = Duration.Zero,
    updateDelay: FiniteDuration = Duration.Zero,
    deleteDelay: FiniteDuration = Duration.Zero,
    consumerDelays: ConsumerDelays = ConsumerDelays(Duration.Zero, Duration.Zero),
    requireSignature: Boolean = false,
    accounts: Seq[Account] = Nil,
    control: ControlPlane = ControlPlane(),
    futureTimestamps: FutureTimestamps = FutureTimestamps.Wait,
    reads: ReadBehavior = ReadBehavior(),
    http: HttpBehavior = HttpBehavior(),
    subscriptions: SubscriptionSettings = SubscriptionSettings(),
    reorderPutRecords: Boolean = false,
    putRecordsBytes: Long = Quota.PutRecordsMaxBytes,
    recentCalls: Int = 10000
) {
  require(
    accounts.isEmpty || accounts.exists(_.id == accountId),
    s"The server's own account $accountId is not among its accounts: ${accounts.map(_.id).mkString(", ")}"
  )
}

object KinesisServerConfig {

  /** A server that behaves as the service does, where the default is kinder: quotas are enforced, a timestamp in the future
    * is refused, and streams and consumers change state after a delay.
    */
  val realistic: KinesisServerConfig = KinesisServerConfig(
    enforceLimits = true,
    createDelay = 300.millis,
    updateDelay = 300.millis,
    deleteDelay = 300.millis,
    consumerDelays = ConsumerDelays(300.millis, 300.millis, shown = 100.millis, forgotten = 100.millis),
    requireSignature = true,
    reorderPutRecords = true,
    control = ControlPlane.realistic,
    futureTimestamps = FutureTimestamps.Refuse,
    reads = ReadBehavior.realistic,
    http = HttpBehavior.realistic
  )
}

/** How subscriptions live. All times are of the service's clock.
  *
  * @param life after which one ends, as it should
  * @param heartbeat after so long without an event comes one without records
  * @param takeoverAfter how long after a successful call the next one for the same consumer and shard is refused; after
  *   that it takes over, and the older subscription ends
  * @param maxEventBytes data and keys of an event's records; one record comes whatever its size
  * @param maxEventRecords records of an event
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShard.html SubscribeToShard]]
  */
final case class SubscriptionSettings(
    life: FiniteDuration = 5.minutes,
    heartbeat: FiniteDuration = 5.seconds,
    takeoverAfter: FiniteDuration = 5.seconds,
    maxEventBytes: Int = 1024 * 1024,
    maxEventRecords: Int = 10000
)

/** What a starting timestamp later than the service's clock does. */
sealed trait FutureTimestamps
object FutureTimestamps {

  /** The iterator gives nothing until that time, as the API reference says. */
  case object Wait extends FutureTimestamps

  /** InvalidArgumentException, as users have seen the service answer. */
  case object Refuse extends FutureTimestamps
}
