package io.github.kinesisspark.testkit.auth

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import java.util.regex.Pattern
import scala.jdk.CollectionConverters._
import scala.util.Try

/** An identity policy or a resource policy: what its statements allow and deny. Elements that can't be evaluated here
  * (Condition, NotAction, NotResource, NotPrincipal) are an error when the policy is read, never ignored.
  *
  * @see [[https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements.html Policy elements]]
  */
final private[testkit] case class Policy(statements: Vector[Policy.Statement]) {
  import Policy._

  /** What the policy says of an action on a resource. An explicit deny wins over every allow. */
  def verdict(caller: Caller, action: String, resource: String): Verdict = {
    val effects = statements.filter(_.covers(caller, action, resource)).map(_.effect)
    if (effects.contains(Effect.Deny)) Verdict.Denied
    else if (effects.contains(Effect.Allow)) Verdict.Allowed
    else Verdict.Silent
  }
}

private[testkit] object Policy {

  sealed trait Effect
  object Effect {
    case object Allow extends Effect
    case object Deny  extends Effect
  }

  sealed trait Verdict
  object Verdict {
    case object Allowed extends Verdict
    case object Denied  extends Verdict

    /** No statement covers the call. */
    case object Silent extends Verdict
  }

  /** One statement.
    *
    * @param principals whom it is about; none in an identity policy, which is about its owner
    * @param actions, resources patterns with `*` and `?`
    */
  final case class Statement(
      effect: Effect,
      principals: Option[Vector[String]],
      actions: Vector[String],
      resources: Vector[String]
  ) {
    def covers(caller: Caller, action: String, resource: String): Boolean =
      principals.forall(_.exists(names(_, caller))) &&
        actions.exists(matches(_, action, Pattern.CASE_INSENSITIVE)) && resources.exists(matches(_, resource, 0))
  }

  /** Reads a policy, or says what is wrong with it. */
  def read(json: String): Either[String, Policy] = for {
    root <- Try(mapper.readTree(json)).toOption.filter(_.isObject).toRight("it is no JSON object")
    found = many(root.path("Statement"))
    _          <- Either.cond(found.nonEmpty, (), "it has no Statement")
    statements <- found.foldLeft[Either[String, Vector[Statement]]](Right(Vector.empty)) { (read, node) =>
      for (before <- read; next <- statement(node)) yield before :+ next
    }
  } yield Policy(statements)

  /** Reads a policy of the server's configuration. */
  def parse(json: String): Policy =
    read(json).fold(problem => throw new IllegalArgumentException(s"Policy is malformed: $problem: $json"), identity)

  private def statement(node: JsonNode): Either[String, Statement] = for {
    _      <- Unsupported.find(node.has).map(name => s"$name can not be evaluated by this server").toLeft(())
    effect <- node.path("Effect").asText match {
      case "Allow" => Right(Effect.Allow)
      case "Deny"  => Right(Effect.Deny)
      case other   => Left(s"Effect '$other' is neither Allow nor Deny")
    }
    actions = many(node.path("Action")).map(_.asText)
    _ <- Either.cond(actions.nonEmpty, (), "a statement has no Action")
    resources = many(node.path("Resource")).map(_.asText)
    _ <- Either.cond(resources.nonEmpty, (), "a statement has no Resource")
  } yield Statement(effect, Option.when(node.has("Principal"))(principals(node.get("Principal"))), actions, resources)

  // A Principal is "*" or an object; services and federated users never call this server.
  private def principals(node: JsonNode): Vector[String] =
    if (node.isTextual) Vector(node.asText) else many(node.path("AWS")).map(_.asText)

  private def many(node: JsonNode): Vector[JsonNode] =
    if (node.isMissingNode) Vector.empty else if (node.isArray) node.elements.asScala.toVector else Vector(node)

  // An account stands for all of its principals, and a role for its sessions.
  private def names(principal: String, caller: Caller): Boolean =
    principal == "*" || principal == caller.accountId || principal == s"arn:aws:iam::${caller.accountId}:root" ||
      principal == caller.arn || roleOf(caller.arn).contains(principal)

  private def roleOf(arn: String): Option[String] = arn match {
    case AssumedRole(account, role) => Some(s"arn:aws:iam::$account:role/$role")
    case _                          => None
  }

  private def matches(pattern: String, text: String, flags: Int): Boolean = {
    val regex = pattern.map {
      case '*'  => ".*"
      case '?'  => "."
      case char => Pattern.quote(char.toString)
    }.mkString
    Pattern.compile(regex, flags).matcher(text).matches
  }

  private val mapper      = new ObjectMapper
  private val Unsupported = Vector("Condition", "NotAction", "NotResource", "NotPrincipal")
  private val AssumedRole = "arn:aws:sts::(\\d{12}):assumed-role/([^/]+)/.*".r
}
