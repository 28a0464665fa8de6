package io.github.kinesisspark.testkit

import java.nio.file.Path

/** How the server is reached over TLS, beside [[KinesisServerConfig.tlsPort]], whose clients choose HTTP/1.1 or HTTP/2 by
  * ALPN.
  *
  * @param priorKnowledgePort a TLS port without ALPN, if there shall be one; 0 takes a free one. The server recognises
  *   HTTP/2 by its preface once the handshake is done, which is how the AWS SDK for Java reaches Kinesis unless it is
  *   configured for ALPN (`ProtocolNegotiation.ASSUME_PROTOCOL`)
  * @param hostNames names and IP addresses of the self-signed certificate, beside `localhost` and 127.0.0.1
  * @param keyStore the key and certificate to serve; self-signed ones are made if absent
  * @see [[https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/http-configuration-netty.html ALPN in the SDK]]
  */
final case class TlsSettings(
    priorKnowledgePort: Option[Int] = None,
    hostNames: Seq[String] = Nil,
    keyStore: Option[TlsKeyStore] = None
)

/** A key store file (PKCS12 or JKS) with one private key and its certificate chain. The key has the store's password. */
final case class TlsKeyStore(path: Path, password: String)
