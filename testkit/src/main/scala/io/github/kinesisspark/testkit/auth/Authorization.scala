package io.github.kinesisspark.testkit.auth

import io.github.kinesisspark.testkit.auth.Policy.Verdict
import io.github.kinesisspark.testkit.model.{ServiceError, ShardIterator, ShardPage, Stream}
import io.github.kinesisspark.testkit.wire.Fields
import io.github.kinesisspark.testkit.{AccountStreams, KinesisServerConfig, Streams}

/** Finds the account whose streams a call works on, and whether the caller may make it there. A call by name is about the
  * caller's own account, a call by ARN about the account in the ARN. In the own account the identity policy decides, if
  * there is one; in another account the resource policy of the stream or consumer must allow the call as well.
  *
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/controlling-access.html Controlling access using IAM]]
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/resource-based-policy-examples.html Share access using resource-based policies]]
  * @see [[https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic-cross-account.html Cross-account policy evaluation]]
  */
final private[testkit] class Authorization(config: KinesisServerConfig, accounts: AccountStreams) {
  import Authorization._

  /** The streams of the account that the call is about, or why it is refused. */
  def streamsFor(caller: Caller, action: String, fields: Fields): Either[ServiceError, Streams] =
    if (config.accounts.isEmpty) Right(accounts.own)
    else {
      val resource = resourceOf(caller, action, fields)
      val refusal  = needed(action, resource, fields).flatMap { case (name, on) =>
        refusalOf(caller, name, on)
      }.headOption
      refusal.toLeft(accounts.of(resource.accountId).orElse(accounts.of(caller.accountId)).getOrElse(accounts.own))
    }

  private def resourceOf(caller: Caller, action: String, fields: Fields): Resource = {
    val byArn = fields
      .text("ConsumerARN")
      .orElse(fields.text("ResourceARN"))
      .orElse(fields.text("StreamARN"))
      .flatMap(Resource.of)
    def byName     = fields.text("StreamName").flatMap(name => Resource.of(arnOf(caller.accountId, name)))
    def byIterator = fields
      .text("ShardIterator")
      .flatMap(ShardIterator.decode)
      .flatMap(accounts.of(_))
      .flatMap(s => Resource.of(s.arn))
    def byPage =
      fields.text("NextToken").flatMap(ShardPage.decode).flatMap(p => Resource.of(arnOf(p.account, p.stream)))
    val resource = byArn.orElse(byName).orElse(byIterator).orElse(byPage).getOrElse(Resource.any(caller.accountId))
    if (NamesConsumer(action)) consumerOf(resource, fields).getOrElse(resource) else resource
  }

  // A consumer by its name: policies are about its ARN, or about that of any consumer of its name if there is none. The KCL's
  // minimal policy allows the call on consumers alone, and the KCL describes its consumer before it registers it.
  private def consumerOf(resource: Resource, fields: Fields): Option[Resource] = for {
    stream <- streamOf(resource)
    name   <- fields.text("ConsumerName")
    known = stream.consumers.find(name, config.clock.millis).map(_.arn)
  } yield resource.copy(arn = known.getOrElse(newConsumerArn(resource, fields)))

  private def refusalOf(caller: Caller, action: String, resource: Resource): Option[ServiceError] = {
    val name      = s"kinesis:$action"
    val isForeign = caller.accountId != resource.accountId
    val identity  = caller.policy.map(_.verdict(caller, name, resource.arn))
    val attached  = streamOf(resource)
      .flatMap(_.policies.of(resource.arn))
      .fold[Verdict](Verdict.Silent)(_.verdict(caller, name, resource.arn))
    val isGranted                               = attached == Verdict.Allowed && !OwnersOnly(action)
    def denied(why: String): Some[ServiceError] = Some(
      ServiceError(
        "AccessDeniedException",
        s"User: ${caller.arn} is not authorized to perform: $name on resource: ${resource.arn} $why"
      )
    )
    (identity, attached) match {
      case (Some(Verdict.Denied), _)    => denied("with an explicit deny in an identity-based policy")
      case (_, Verdict.Denied)          => denied("with an explicit deny in a resource-based policy")
      case _ if isForeign && !isGranted => denied(s"because no resource-based policy allows the $name action")
      case (Some(Verdict.Silent), _) if isForeign || !isGranted =>
        denied(s"because no identity-based policy allows the $name action")
      case _ => None
    }
  }

  private def streamOf(resource: Resource): Option[Stream] =
    for (streams <- accounts.of(resource.accountId); name <- resource.stream; stream <- streams.get(name)) yield stream

  private def needed(action: String, resource: Resource, fields: Fields): Vector[(String, Resource)] = {
    val tagging = if (fields.textMap("Tags").isEmpty) None else TaggedBy.get(action)
    (action -> resource) +: tagging.toVector.map {
      case tag @ "TagResource" => tag -> resource.copy(arn = newConsumerArn(resource, fields))
      case tag                 => tag -> resource
    }
  }

  private def newConsumerArn(resource: Resource, fields: Fields): String =
    s"${resource.arn}/consumer/${fields.text("ConsumerName").getOrElse("")}:${config.clock.millis / 1000}"

  private def arnOf(accountId: String, stream: String): String = Streams.arn(config.region, accountId, stream)
}

private[testkit] object Authorization {

  // The resource policy of a stream or a consumer is its own account's affair, whatever it says.
  private val OwnersOnly = Set("PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy")

  private val NamesConsumer = Set("DescribeStreamConsumer", "DeregisterStreamConsumer")

  /** The action that a call with tags needs as well; for CreateStream it isn't TagResource.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_RegisterStreamConsumer.html RegisterStreamConsumer]]
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_CreateStream.html CreateStream]]
    */
  private val TaggedBy = Map("RegisterStreamConsumer" -> "TagResource", "CreateStream" -> "AddTagsToStream")
}
