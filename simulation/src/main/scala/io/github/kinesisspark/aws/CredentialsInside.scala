package io.github.kinesisspark.aws

import java.util.concurrent.{CompletableFuture, Executor}

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider

import io.github.kinesisspark.runtime.Runtime

/** The credentials of a simulated client: calls wait for them as calls of the SDK's client do.
  *
  * @param provider may block
  */
final class CredentialsInside(provider: AwsCredentialsProvider, threads: Executor)(implicit runtime: Runtime)
    extends AutoCloseable {
  private val cache = new CredentialsCache(
    "the world's credentials",
    () => new Credentials.Unheld(() => provider.resolveCredentials()),
    threads,
    CredentialsCache.Patience
  )

  def before[A](call: () => CompletableFuture[A]): CompletableFuture[A] = cache.before(call)

  override def close(): Unit = cache.close()
}
