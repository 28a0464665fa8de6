package io.github.kinesisspark.aws

/** A call of AWS that the connector makes, as text by its name in the service's API. Errors, logs and metrics name calls by it, and
  * docs/reference/calls.md says of each who makes it, when and how often.
  *
  * @param service whose prefix the call's IAM action has; none where a token allows the call
  */
sealed abstract class AwsCall(service: Option[String] = Some("kinesis")) extends Product with Serializable {

  /** The IAM action that allows the call; none where a token does. */
  def permission: Option[String] = service.map(prefix => s"$prefix:$productPrefix")
}

object AwsCall {

  case object DescribeStreamSummary    extends AwsCall
  case object ListShards               extends AwsCall
  case object GetShardIterator         extends AwsCall
  case object GetRecords               extends AwsCall
  case object SubscribeToShard         extends AwsCall
  case object RegisterStreamConsumer   extends AwsCall
  case object DescribeStreamConsumer   extends AwsCall
  case object ListStreamConsumers      extends AwsCall
  case object DeregisterStreamConsumer extends AwsCall
  case object ListTagsForResource      extends AwsCall
  case object TagResource              extends AwsCall
  case object PutRecords               extends AwsCall

  case object PutMetricData extends AwsCall(Some("cloudwatch"))

  case object AssumeRole                extends AwsCall(Some("sts"))
  case object AssumeRoleWithWebIdentity extends AwsCall(None)

  /** Of a login by `aws sso login`: keys of its role. */
  case object GetRoleCredentials extends AwsCall(None)

  /** Of the same: its next token. */
  case object CreateToken extends AwsCall(None)

  /** Of a login by `aws login`, whose person needs the permission. */
  case object CreateOAuth2Token extends AwsCall(Some("signin"))
}
