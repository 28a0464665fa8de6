package io.github.kinesisspark.config

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class SecretsTest extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val planted = Map(
    "accessKeyId"     -> "PLANTEDACCESSKEY",
    "secretAccessKey" -> "planted/secret+key",
    "sessionToken"    -> "planted==token"
  )

  private def assertHidden(text: String): Unit =
    planted.values.foreach(secret => assert(!text.contains(secret)))

  test("toString of parsed options hides all secrets") {
    val options =
      SourceOptions.parse(planted + ("streamName" -> "a,b") + ("roleArn" -> "arn:aws:iam::123456789012:role/r"))
    val keys = options.streams.head.client.credentials match {
      case CredentialsOptions.AssumeRole(base: CredentialsOptions.StaticKeys, _, _, _, _) => base
      case other                                                                          => fail(s"not keys: $other")
    }
    assert(keys.secretAccessKey.reveal == planted("secretAccessKey"))
    val shown =
      Seq[Any](options, options.streams, options.streams.head.client, keys, keys.secretAccessKey, Option(keys))
    val ofStream = SourceOptions.parse(planted.map { case (name, value) =>
      s"stream.a.$name" -> value
    } + ("streamName" -> "a,b"))
    (shown :+ ofStream).foreach(value => assertHidden(value.toString))
    assertHidden(shown.mkString)
    assert(keys.toString == "StaticKeys(***,***,Some(***))")
  }

  test("errors hide all secrets, whatever other options are wrong") {
    val wrong = Gen.someOf(
      Seq(
        "profile"             -> "dev",
        "regoin"              -> "x",
        "startingPosition"    -> "x",
        "credentialsProvider" -> "1",
        "externalId"          -> "x",
        "endpoint"            -> "x"
      )
    )
    val secrets = Gen.someOf(
      planted.toSeq ++ planted.toSeq.map { case (name, value) => (name.toUpperCase, value) } ++
        planted.toSeq.map { case (name, value) => (name.dropRight(1), value) } ++
        planted.toSeq.map { case (name, value) => (s"stream.events.$name", value) }
    )
    forAll(wrong, secrets) { (others, some) =>
      try SourceOptions.parse((others ++ some).toMap)
      catch { case e: OptionException => assertHidden(e.toString) }
    }
  }

  test("an empty secret is refused without its value") {
    val e = intercept[OptionException](
      SourceOptions.parse(Map("streamName" -> "a", "accessKeyId" -> "k", "secretAccessKey" -> "  "))
    )
    assert(
      e.getMessage.contains("'secretAccessKey' must be a text that isn't empty.") && !e.getMessage.contains("It is")
    )
  }

  test("a URL with a password is refused without the password, whatever else is wrong with it") {
    for (
      url <- Seq(
        "https://me:planted@host",
        "me:planted@host:3128",
        "http://me:plan/planted@host",
        "http://me:plan@planted@host"
      )
    ) {
      val refused = intercept[OptionException](SourceOptions.parse(Map("streamName" -> "a", "endpoint" -> url)))
      assert(!refused.getMessage.contains("plan"))
      assert(refused.getMessage.contains("***@host"))
    }
  }
}
