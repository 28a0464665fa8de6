package io.github.kinesisspark.aws

import java.net.URI

import software.amazon.awssdk.awscore.endpoint.AwsClientEndpointProvider
import software.amazon.awssdk.regions.Region

import io.github.kinesisspark.config.ClientOptions

/** Where Kinesis is called, if not at the region's own address. */
private[aws] object Endpoints {

  /** The option's, or else what this machine has: AWS_ENDPOINT_URL_KINESIS and its like, then the profile. The SDK's client would use it unasked;
    * protocol and pace depend on it, too.
    *
    * @see [[https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html service-specific endpoints]]
    */
  def of(client: ClientOptions, region: String): Option[URI] = client.endpoint.orElse {
    val builder = AwsClientEndpointProvider
      .builder()
      .serviceEndpointOverrideEnvironmentVariable("AWS_ENDPOINT_URL_KINESIS")
      .serviceEndpointOverrideSystemProperty("aws.endpointUrlKinesis")
      .serviceProfileProperty("kinesis")
      // Of the address that it makes where it finds none, which is not used.
      .serviceEndpointPrefix("kinesis")
      .defaultProtocol("https")
      .region(Region.of(region))
    Regions.profileOf(client.credentials).foreach(builder.profileName(_))
    val found = builder.build()
    Option.when(found.isEndpointOverridden)(found.clientEndpoint)
  }
}
