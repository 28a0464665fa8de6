package io.github.kinesisspark.testkit.action

import io.github.kinesisspark.testkit.auth.Policy
import io.github.kinesisspark.testkit.model._
import io.github.kinesisspark.testkit.wire.Reply

/** Resource policies of streams and consumers.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutResourcePolicy.html PutResourcePolicy]]
  */
private[testkit] object PolicyOperations {
  import Operation.Operation

  val all: Map[String, Operation] = Map(
    "PutResourcePolicy"    -> put _,
    "GetResourcePolicy"    -> get _,
    "DeleteResourcePolicy" -> delete _
  )

  private def put(request: Request): Outcome = {
    val (stream, arn) = request.resource
    val json          = request.fields.requiredText("Policy")
    val policy        = Policy
      .read(json)
      .fold(problem => ServiceError.invalidArgument(s"The policy of $arn is refused: $problem.").raise(), identity)
    stream.policies.put(arn, json, policy)
    Outcome.done
  }

  private def get(request: Request): Outcome = {
    val (stream, arn) = request.resource
    Outcome(Reply.Members(_.text("Policy", stream.policies.json(arn).getOrElse("{}"))))
  }

  private def delete(request: Request): Outcome = {
    val (stream, arn) = request.resource
    if (!stream.policies.remove(arn))
      ServiceError.notFound(s"No resource policy found for resource ARN $arn").raise()
    Outcome.done
  }
}
