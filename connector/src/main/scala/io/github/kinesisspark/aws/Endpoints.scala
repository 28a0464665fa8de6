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
private[kinesisspark] object Endpoints {

  /** With the endpoint that this machine has for Kinesis, where the options name none: so what executors get of the driver calls the same server, whatever
    * their own machines have.
    *
    * @throws KinesisException `KINESIS_UNKNOWN_HOST` where the machine's has no host
    */
  def located(client: ClientOptions): ClientOptions = client.copy(endpoint = ofKinesis(client))

  /** The option's, or else the machine's; none for the region's own. The SDK's client would use the machine's unasked; protocol and pace depend on it,
    * too.
    */
  private def ofKinesis(client: ClientOptions): Option[URI] = client.endpoint.orElse {
    // The region is for the address that it makes where it finds none, which is not used.
    val found = named("Kinesis", "kinesis", client, Region.US_EAST_1).build()
    Option.when(found.isEndpointOverridden)(havingHost("Kinesis", found.clientEndpoint))
  }

  /** As the SDK's own clients choose theirs: where the options ask for neither FIPS nor dual stack, the environment or the profile may.
    *
    * @throws KinesisException `KINESIS_UNKNOWN_HOST` where the machine's has no host
    */
  def ofCloudWatch(client: ClientOptions, region: String): URI = {
    val builder = named("CloudWatch", "monitoring", client, Region.of(region))
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
      region: Region
  ): AwsClientEndpointProvider.Builder = {
    val builder = AwsClientEndpointProvider
      .builder()
      .serviceEndpointOverrideEnvironmentVariable(variableOf(service))
      .serviceEndpointOverrideSystemProperty(s"aws.endpointUrl$service")
      .serviceProfileProperty(service.toLowerCase(Locale.ROOT))
      .serviceEndpointPrefix(host)
      .defaultProtocol("https")
      .region(region)
    Regions.profileOf(client.credentials).foreach(builder.profileName(_))
    builder
  }
}
