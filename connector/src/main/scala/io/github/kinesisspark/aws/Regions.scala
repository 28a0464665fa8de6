package io.github.kinesisspark.aws

import java.net.URI

import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, SinkOptions, StreamRef}
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.regions.{PartitionEndpointKey, PartitionMetadata, Region}
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain

import scala.annotation.tailrec
import scala.collection.mutable

/** Which region a stream is in: its ARN's, the option's, then whatever the SDK finds on this machine. Asked on the driver once;
  * executors receive it.
  */
object Regions {

  /** May ask the instance's metadata service, so takes a second or two on a machine that has none.
    *
    * @throws KinesisException `KINESIS_NO_REGION`
    * @see [[https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/region-selection.html the SDK's chain]]
    */
  def resolve(stream: StreamRef, client: ClientOptions): String = resolve(stream, client, ofMachine)

  /** @param machine what is found on the driver, where neither option nor ARN names a region */
  private[kinesisspark] def resolve(
      stream: StreamRef,
      client: ClientOptions,
      machine: ClientOptions => Option[String]
  ): String =
    stream.arn.map(_.region).orElse(client.region).orElse(machine(client)).getOrElse {
      val why =
        client.endpoint.fold("")(e => s" The endpoint $e doesn't name it, and requests are signed for a region.")
      throw new KinesisException(
        "KINESIS_NO_REGION",
        s"The region of stream ${stream.name} is not known.$why Set the option 'region', or name the stream by 'streamArn', or set AWS_REGION."
      )
    }

  /** Gives each client without a region the one that this machine finds, so that executors don't look for it. Looks once for each profile. */
  private[kinesisspark] def located(options: SinkOptions): SinkOptions = {
    val found                         = mutable.Map.empty[Option[String], Option[String]]
    def ofProfile(own: ClientOptions) = found.getOrElseUpdate(profileOf(own.credentials), ofMachine(own))
    options.mapClients(own => own.copy(region = own.region.orElse(ofProfile(own))))
  }

  /** As [[resolve]] for a stream of which only the client's options are known. */
  private def ofMachine(client: ClientOptions): Option[String] = {
    val chain = DefaultAwsRegionProviderChain.builder()
    profileOf(client.credentials).foreach(chain.profileName(_))
    try Option(chain.build().getRegion).map(_.id)
    catch { case _: SdkClientException => None }
  }

  /** The end of the names of the region's hosts, such as `amazonaws.com.cn`. */
  private[kinesisspark] def dnsSuffix(region: String): String =
    PartitionMetadata.of(Region.of(region)).dnsSuffix(PartitionEndpointKey.builder().build())

  /** Whether AWS itself is called, by the region's own address or by a VPC endpoint, and no other server. */
  private[aws] def isAws(endpoint: Option[URI], region: String): Boolean =
    endpoint.forall(_.getHost.endsWith("." + dnsSuffix(region)))

  /** The profile among the options. */
  @tailrec private[aws] def profileOf(credentials: CredentialsOptions): Option[String] = credentials match {
    case CredentialsOptions.Profile(name)                => Some(name)
    case CredentialsOptions.AssumeRole(base, _, _, _, _) => profileOf(base)
    case _                                               => None
  }
}
