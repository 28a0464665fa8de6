package io.github.kinesisspark.testkit.http

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.math.BigInteger
import java.net.InetAddress
import java.nio.charset.StandardCharsets.US_ASCII
import java.security.cert.{Certificate, CertificateFactory}
import java.security.spec.ECGenParameterSpec
import java.security.{KeyPair, KeyPairGenerator, KeyStore, SecureRandom, Signature}
import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZoneOffset}

/** A certificate for `localhost`, 127.0.0.1 and further hosts, made when the server starts. The JDK can make keys and sign but has no
  * public way to write a certificate, so the few DER structures of one (RFC 5280, section 4.1) are written here.
  */
private[testkit] object SelfSignedCertificate {
  val Password      = "testkit"
  private val Alias = "testkit"

  /** A store with a new key and its certificate.
    *
    * @param hosts names and IP addresses that the certificate is valid for, beside the local ones
    */
  def keyStore(hosts: Seq[String]): KeyStore = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec("secp256r1"))
    val keys  = generator.generateKeyPair()
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store.setKeyEntry(Alias, keys.getPrivate, Password.toCharArray, Array(certificate(keys, Local ++ hosts)))
    store
  }

  private def certificate(keys: KeyPair, hosts: Seq[String]): Certificate = {
    val algorithm = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)) // ecdsa-with-SHA256
    val name      = sequence(der(Set, sequence(oid(0x55, 0x04, 0x03) ++ der(Utf8, "localhost".getBytes(US_ASCII)))))
    val now       = Instant.now()
    val validity  = sequence(time(now.minus(Duration.ofDays(1))) ++ time(now.plus(Duration.ofDays(365))))
    val names     = sequence(hosts.distinct.toArray.flatMap(alternativeName))
    val extension = sequence(oid(0x55, 0x1d, 0x11) ++ der(Octets, names))         // subjectAltName
    val body      = sequence(
      der(Version, der(Integer, Array[Byte](2))) ++
        der(Integer, new BigInteger(63, new SecureRandom).toByteArray) ++
        algorithm ++ name ++ validity ++ name ++ keys.getPublic.getEncoded ++
        der(Extensions, sequence(extension))
    )
    val signer = Signature.getInstance("SHA256withECDSA")
    signer.initSign(keys.getPrivate)
    signer.update(body)
    val signed = sequence(body ++ algorithm ++ der(Bits, 0.toByte +: signer.sign()))
    CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(signed))
  }

  private def alternativeName(host: String): Array[Byte] =
    if (isAddress(host)) der(IpAddress, InetAddress.getByName(host).getAddress)
    else der(DnsName, host.getBytes(US_ASCII))

  // Only literals, so that no name is looked up.
  private def isAddress(host: String): Boolean = host.contains(':') || host.matches("\\d{1,3}(\\.\\d{1,3}){3}")

  private val Local = Seq("localhost", "127.0.0.1")

  // DER tags (X.690); the last four are context-specific.
  private val Integer    = 0x02
  private val Bits       = 0x03
  private val Octets     = 0x04
  private val Oid        = 0x06
  private val Utf8       = 0x0c
  private val Time       = 0x18
  private val Sequence   = 0x30
  private val Set        = 0x31
  private val Version    = 0xa0
  private val Extensions = 0xa3
  private val DnsName    = 0x82
  private val IpAddress  = 0x87

  private def sequence(content: Array[Byte]): Array[Byte] = der(Sequence, content)
  private def oid(bytes: Int*): Array[Byte]               = der(Oid, bytes.map(_.toByte).toArray)
  private def time(at: Instant): Array[Byte]              =
    der(Time, DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'").withZone(ZoneOffset.UTC).format(at).getBytes(US_ASCII))

  private def der(tag: Int, content: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    out.write(tag)
    val length = content.length
    if (length < 0x80) out.write(length)
    else if (length < 0x100) { out.write(0x81); out.write(length) }
    else { out.write(0x82); out.write(length >> 8); out.write(length) }
    out.writeBytes(content)
    out.toByteArray
  }
}
