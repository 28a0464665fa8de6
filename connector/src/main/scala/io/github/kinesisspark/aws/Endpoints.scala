package io.github.kinesisspark.aws

import java.net.URI
import java.util.Locale

import software.amazon.awssdk.awscore.endpoint.AwsClientEndpointProvider
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.config.ClientOptions

/** Where services are called: at the endpoint that this machine has for them (AWS_ENDPOINT_URL_KINESIS and its like, then the profile), or at the
  * region's own address.
  *
  * @see [[https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html service-specific endpoints]]
  */
private[aws] object Endpoints {

  /** The option's, or else the machine's; none for the region's own. The SDK's client would use the machine's unasked; protocol and pace depend on it,
    * too.
    */
  def ofKinesis(client: ClientOptions, region: String): Option[URI] = client.endpoint.orElse {
    // The address that it makes where it finds none is not used.
    val found = named("Kinesis", "kinesis", client, region).build()
    Option.when(found.isEndpointOverridden)(found.clientEndpoint)
  }

  /** As the SDK's own clients choose theirs: where the options ask for neither FIPS nor dual stack, the environment or the profile may. */
  def ofCloudWatch(client: ClientOptions, region: String): URI = {
    val builder = named("CloudWatch", "monitoring", client, region)
    if (client.connection.fips) builder.fipsEnabled(true)
    if (client.connection.dualStack) builder.dualstackEnabled(true)
    builder.build().clientEndpoint
  }

  /** @param service its name in the machine's settings
    * @param host    the first part of its hosts' names
    */
  private def named(
      service: String,
      host: String,
      client: ClientOptions,
      region: String
  ): AwsClientEndpointProvider.Builder = {
    val builder = AwsClientEndpointProvider
      .builder()
      .serviceEndpointOverrideEnvironmentVariable(s"AWS_ENDPOINT_URL_${service.toUpperCase(Locale.ROOT)}")
      .serviceEndpointOverrideSystemProperty(s"aws.endpointUrl$service")
      .serviceProfileProperty(service.toLowerCase(Locale.ROOT))
      .serviceEndpointPrefix(host)
      .defaultProtocol("https")
      .region(Region.of(region))
    Regions.profileOf(client.credentials).foreach(builder.profileName(_))
    builder
  }
}
