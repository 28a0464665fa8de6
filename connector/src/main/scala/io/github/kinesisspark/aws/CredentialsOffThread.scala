package io.github.kinesisspark.aws

import java.util.concurrent.{CompletableFuture, ExecutorService, Executors}
import java.util.concurrent.atomic.AtomicReference

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider
import software.amazon.awssdk.identity.spi.{AwsCredentialsIdentity, IdentityProvider, ResolveIdentityRequest}

/** Resolves a client's credentials on a thread of their own, because providers may block for seconds (STS, the instance's metadata
  * service, a provider of the user's) and the threads that make calls serve all shards of an executor.
  *
  * Calls that need credentials at the same time share one resolution, so a slow provider holds one thread for each client.
  */
private[aws] final class CredentialsOffThread(provider: AwsCredentialsProvider)
    extends IdentityProvider[AwsCredentialsIdentity] {
  import CredentialsOffThread._

  private val underWay = new AtomicReference[CompletableFuture[AwsCredentialsIdentity]]

  override def identityType(): Class[AwsCredentialsIdentity] = classOf[AwsCredentialsIdentity]

  override def resolveIdentity(request: ResolveIdentityRequest): CompletableFuture[AwsCredentialsIdentity] = {
    val mine   = new CompletableFuture[AwsCredentialsIdentity]
    val others = underWay.compareAndExchange(null, mine)
    if (others == null) {
      threads.execute(() => resolve(mine))
      mine
    } else others.copy()
  }

  private def resolve(result: CompletableFuture[AwsCredentialsIdentity]): Unit =
    try {
      val credentials = provider.resolveCredentials()
      underWay.set(null)
      result.complete(credentials): Unit
    } catch {
      // An Error as well: whoever waits for the credentials has to see it.
      case failure: Throwable =>
        underWay.set(null)
        result.completeExceptionally(failure): Unit
    }
}

private[aws] object CredentialsOffThread {

  /** Threads end when they have had nothing to do for a minute. */
  private lazy val threads: ExecutorService =
    Executors.newCachedThreadPool(new DaemonThreads("kinesis-credentials"))
}
