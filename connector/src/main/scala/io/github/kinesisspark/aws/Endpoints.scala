package io.github.kinesisspark.aws

import java.net.URI
import java.util.Locale

import software.amazon.awssdk.awscore.endpoint.AwsClientEndpointProvider
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.config.{ClientOptions, OptionValue}

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
    Option.when(found.isEndpointOverridden)(havingHost("Kinesis", found.clientEndpoint))
  }

  /** As the SDK's own clients choose theirs: where the options ask for neither FIPS nor dual stack, the environment or the profile may.
    *
    * @throws KinesisException `KINESIS_UNKNOWN_HOST` where the machine's has no host
    */
  def ofCloudWatch(client: ClientOptions, region: String): URI = {
    val builder = named("CloudWatch", "monitoring", client, region)
    if (client.connection.fips) builder.fipsEnabled(true)
    if (client.connection.dualStack) builder.dualstackEnabled(true)
    havingHost("CloudWatch", builder.build().clientEndpoint)
  }

  /** The message doesn't repeat the URL, which may have a password. */
  private def havingHost(service: String, found: URI): URI =
    if (found.getHost != null) found
    else
      throw new KinesisException(
        "KINESIS_UNKNOWN_HOST",
        s"The endpoint that this machine has for $service has no host. ${variableOf(service)}, AWS_ENDPOINT_URL or endpoint_url of the profile must be " +
          s"${OptionValue.endpoint(found.toString).fold(identity, _ => "a URL with a host")}."
      )

  private def variableOf(service: String) = s"AWS_ENDPOINT_URL_${service.toUpperCase(Locale.ROOT)}"

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
      .serviceEndpointOverrideEnvironmentVariable(variableOf(service))
      .serviceEndpointOverrideSystemProperty(s"aws.endpointUrl$service")
      .serviceProfileProperty(service.toLowerCase(Locale.ROOT))
      .serviceEndpointPrefix(host)
      .defaultProtocol("https")
      .region(Region.of(region))
    Regions.profileOf(client.credentials).foreach(builder.profileName(_))
    builder
  }
}
