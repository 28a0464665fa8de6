package io.github.kinesisspark.it.aws

import java.net.URI
import java.nio.file.Path

import scala.util.Try

import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.it.{KinesisService, Patience, RealisticServer, TestRun}

/** Where a run against AWS goes. Credentials come from the SDK's default chain.
  *
  * @param endpoint a server in place of the service, which proves the run without AWS
  * @param trustStore what that server's certificate is verified with, in place of the JDK's authorities
  */
final case class AwsSettings(region: Region, endpoint: Option[URI], trustStore: Option[Path]) {

  /** Comes before the JVM's first TLS connection. */
  def open(): KinesisService = {
    trustStore.foreach { file =>
      System.setProperty("javax.net.ssl.trustStore", file.toString)
      System.setProperty("javax.net.ssl.trustStorePassword", RealisticServer.TrustStorePassword)
    }
    new KinesisService(
      endpoint,
      region,
      DefaultCredentialsProvider.builder().build(),
      () => (),
      if (endpoint.isEmpty) Patience.service else Patience.limited
    )
  }
}

object AwsSettings {

  /** Those with which `make test-aws` has started this JVM. */
  lazy val ofThisJvm: Either[String, AwsSettings] =
    if (sys.env.contains(TestRun.Setting)) parse(sys.env) else Left("it has not started this JVM")

  /** @param variables as the Makefile gives them: REGION, ENDPOINT, TRUST_STORE; an empty one counts as absent */
  def parse(variables: Map[String, String]): Either[String, AwsSettings] = {
    val present = variables.filter(_._2.nonEmpty)
    for {
      region   <- present.get("REGION").toRight("REGION=... is missing, for example REGION=eu-west-1")
      endpoint <- present.get("ENDPOINT").fold[Either[String, Option[URI]]](Right(None))(tls(_).map(Some(_)))
    } yield AwsSettings(Region.of(region), endpoint, present.get("TRUST_STORE").map(Path.of(_)))
  }

  private def tls(text: String): Either[String, URI] =
    Try(URI.create(text)).toOption
      .filter(uri => uri.getScheme == "https" && uri.getHost != null)
      .toRight(s"ENDPOINT is '$text'; an https:// URI is expected, because everything runs over TLS")
}
