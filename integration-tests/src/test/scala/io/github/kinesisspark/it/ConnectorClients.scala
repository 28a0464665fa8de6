package io.github.kinesisspark.it

import java.net.URI

import io.github.kinesisspark.aws.{ClientKind, ClientLease, KinesisClients}
import io.github.kinesisspark.config.{ClientOptions, ConnectionOptions, CredentialsOptions, Secret}

/** The connector's own clients, for servers that take any keys. */
object ConnectorClients {
  private val Keys = CredentialsOptions.StaticKeys(new Secret("test"), new Secret("test"), None)

  /** For the caller to close. */
  def lease(
      endpoint: URI,
      kind: ClientKind = ClientKind.Calls,
      connection: ConnectionOptions = ConnectionOptions()
  ): ClientLease = KinesisClients.ofJvm.lease(ClientOptions(None, Some(endpoint), Keys, connection), "us-east-1", kind)
}
