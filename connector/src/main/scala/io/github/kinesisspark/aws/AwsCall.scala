package io.github.kinesisspark.aws

/** A call of AWS that the connector makes, as text by its name in the service's API. Errors, logs and metrics name calls by it, and
  * docs/reference/calls.md says of each who makes it, when and how often.
  */
sealed abstract class AwsCall extends Product with Serializable {

  /** The IAM action that allows the call; none where a token does. */
  def permission: Option[String]
}

object AwsCall {

  sealed abstract class AllowedBy(prefix: String) extends AwsCall {
    override def permission: Option[String] = Some(s"$prefix:$productPrefix")
  }

  sealed abstract class OfKinesis extends AllowedBy("kinesis")

  sealed abstract class AllowedByToken extends AwsCall {
    override def permission: Option[String] = None
  }

  case object DescribeStreamSummary    extends OfKinesis
  case object ListShards               extends OfKinesis
  case object GetShardIterator         extends OfKinesis
  case object GetRecords               extends OfKinesis
  case object SubscribeToShard         extends OfKinesis
  case object RegisterStreamConsumer   extends OfKinesis
  case object DescribeStreamConsumer   extends OfKinesis
  case object ListStreamConsumers      extends OfKinesis
  case object DeregisterStreamConsumer extends OfKinesis
  case object ListTagsForResource      extends OfKinesis
  case object TagResource              extends OfKinesis
  case object PutRecords               extends OfKinesis

  case object PutMetricData extends AllowedBy("cloudwatch")

  case object AssumeRole                extends AllowedBy("sts")
  case object AssumeRoleWithWebIdentity extends AllowedByToken

  /** Of a login by `aws sso login`: keys of its role. */
  case object GetRoleCredentials extends AllowedByToken

  /** Of the same: its next token. */
  case object CreateToken extends AllowedByToken

  /** Of a login by `aws login`, whose person needs the permission. */
  case object CreateOAuth2Token extends AllowedBy("signin")
}
