package io.github.kinesisspark.testkit.auth

import io.github.kinesisspark.testkit.auth.Policy.Verdict
import org.scalatest.EitherValues
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

/** Tests what policies allow and deny, and which are refused. */
class PolicySpec extends AnyFunSpec with Matchers with EitherValues {
  private val stream = "arn:aws:kinesis:us-east-1:111111111111:stream/events"
  private val reader = Caller("222222222222", "arn:aws:iam::222222222222:user/reader", None)

  private def statement(more: String, action: String = "\"kinesis:Get*\"", effect: String = "Allow"): String =
    s"""{"Effect":"$effect","Action":$action,"Resource":"$stream"$more}"""

  private def policy(statements: String*): Policy = Policy.parse(s"""{"Statement":[${statements.mkString(",")}]}""")

  private def verdict(policy: Policy, action: String = "kinesis:GetRecords", resource: String = stream): Verdict =
    policy.verdict(reader, action, resource)

  it("a policy allows what a statement covers, and is silent about all else") {
    val read = policy(statement(""))
    verdict(read) shouldBe Verdict.Allowed
    verdict(read, "kinesis:getshardITERATOR") shouldBe Verdict.Allowed
    verdict(read, "kinesis:PutRecord") shouldBe Verdict.Silent
    verdict(read, resource = s"$stream-2") shouldBe Verdict.Silent
    verdict(
      policy(statement("", action = """["kinesis:PutRecord","kinesis:ListShard?"]""")),
      "kinesis:ListShards"
    ) shouldBe
      Verdict.Allowed
  }

  it("a denying statement wins over allowing ones") {
    val both = policy(statement(""), statement("", "\"*\"", "Deny"))
    verdict(both) shouldBe Verdict.Denied
    verdict(both, resource = s"$stream-2") shouldBe Verdict.Silent
  }

  it("a statement names principals by ARN, by account, by role and by *") {
    def named(principal: String, caller: Caller = reader): Verdict =
      policy(statement(s""","Principal":$principal""")).verdict(caller, "kinesis:GetRecords", stream)
    val session = Caller("222222222222", "arn:aws:sts::222222222222:assumed-role/job/session-1", None)
    for (principal <- Seq("222222222222", "arn:aws:iam::222222222222:root", reader.arn, "*"))
      named(s"""{"AWS":"$principal"}""") shouldBe Verdict.Allowed
    named("\"*\"") shouldBe Verdict.Allowed
    named(s"""{"AWS":["333333333333","${reader.arn}"]}""") shouldBe Verdict.Allowed
    named("""{"AWS":"arn:aws:iam::222222222222:role/job"}""", session) shouldBe Verdict.Allowed
    for (principal <- Seq("333333333333", "arn:aws:iam::222222222222:user/other"))
      named(s"""{"AWS":"$principal"}""") shouldBe Verdict.Silent
    named("""{"Service":"lambda.amazonaws.com"}""") shouldBe Verdict.Silent
  }

  it("a single statement needs no array") {
    verdict(Policy.parse(s"""{"Version":"2012-10-17","Statement":${statement("")}}""")) shouldBe Verdict.Allowed
  }

  it("a policy that is malformed or has elements that can't be evaluated is refused") {
    def problem(json: String): String = Policy.read(json).left.value
    problem("no JSON") should include("no JSON object")
    problem("{}") should include("no Statement")
    problem(s"""{"Statement":[${statement("", effect = "Maybe")}]}""") should include("'Maybe'")
    problem("""{"Statement":[{"Effect":"Allow","Resource":"*"}]}""") should include("Action")
    problem("""{"Statement":[{"Effect":"Allow","Action":"*"}]}""") should include("Resource")
    for (name <- Seq("Condition", "NotAction", "NotResource", "NotPrincipal"))
      problem(s"""{"Statement":[${statement(s""","$name":{}""")}]}""") should include(name)
  }
}
