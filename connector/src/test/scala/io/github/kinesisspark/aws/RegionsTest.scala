package io.github.kinesisspark.aws

import java.net.URI

import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, StreamRef}
import io.github.kinesisspark.position.StreamArn
import org.scalatest.funsuite.AnyFunSuite

class RegionsTest extends AnyFunSuite {

  private val byName = StreamRef.ByName("events")
  private val byArn  = StreamRef.ByArn(StreamArn("arn:aws:kinesis:eu-west-1:000000000000:stream/events"))
  private val none   = ClientOptions(None, None, CredentialsOptions.DefaultChain)

  test("the region comes from the stream ARN, then the option, then the SDK's default") {
    val machine = (_: ClientOptions) => Some("us-east-1")
    assert(Regions.resolve(byArn, none.copy(region = Some("us-east-2")), machine) == "eu-west-1")
    assert(Regions.resolve(byName, none.copy(region = Some("eu-central-1")), machine) == "eu-central-1")
    assert(Regions.resolve(byArn, none, machine) == "eu-west-1")
    assert(Regions.resolve(byName, none, machine) == "us-east-1")
  }

  test("a missing region fails with the stream, the options and the endpoint, if there is one") {
    val e = intercept[KinesisException](
      Regions.resolve(byName, none.copy(endpoint = Some(new URI("http://localhost:4567"))), _ => None)
    )
    assert(e.errorClass == "KINESIS_NO_REGION")
    for (word <- Seq("events", "http://localhost:4567", "'region'", "'streamArn'", "AWS_REGION"))
      assert(e.getMessage.contains(word))
    assert(!intercept[KinesisException](Regions.resolve(byName, none, _ => None)).getMessage.contains("endpoint"))
  }

  test("AWS is called by the region's own address and by a VPC endpoint, whatever the partition, and by no other") {
    def isAws(host: String, region: String) = Regions.isAws(Some(URI.create(s"https://$host")), region)
    assert(Regions.isAws(None, "us-east-1"))
    assert(isAws("vpce-1-test.kinesis.us-east-1.vpce.amazonaws.com", "us-east-1"))
    assert(isAws("kinesis.cn-north-1.amazonaws.com.cn", "cn-north-1"))
    assert(!isAws("localhost:4567", "us-east-1"))
    assert(!isAws("amazonaws.com.example.org", "us-east-1"))
  }

  test("the default region comes from the SDK's chain") {
    val before = Option(System.setProperty("aws.region", "ap-south-1"))
    try assert(Regions.resolve(byName, none) == "ap-south-1")
    finally before.fold(System.clearProperty("aws.region"))(System.setProperty("aws.region", _))
  }
}
