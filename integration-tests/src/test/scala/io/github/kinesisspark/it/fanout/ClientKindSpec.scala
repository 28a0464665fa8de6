package io.github.kinesisspark.it.fanout

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{ClientKind, KinesisClients}
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, Secret}
import io.github.kinesisspark.testkit.KinesisServer

/** Tests which HTTP version each kind of client uses with a server that supports both. */
final class ClientKindSpec extends AnyFunSpec with Matchers {
  private val keys = CredentialsOptions.StaticKeys(new Secret("test"), new Secret("test"), None)

  private def protocolOf(kind: ClientKind): String = {
    val server = KinesisServer.start()
    val lease  = KinesisClients.lease(ClientOptions(None, Some(server.endpoint), keys), server.region, kind)
    try {
      lease.client.describeLimits().join()
      server.calls.recent.last.protocol
    } finally {
      lease.close()
      server.close()
    }
  }

  it("subscriptions use HTTP/2 by prior knowledge on a cleartext endpoint") {
    protocolOf(ClientKind.Subscriptions) shouldBe "HTTP/2.0"
  }

  it("other calls use HTTP/1.1") {
    protocolOf(ClientKind.Calls) shouldBe "HTTP/1.1"
  }
}
