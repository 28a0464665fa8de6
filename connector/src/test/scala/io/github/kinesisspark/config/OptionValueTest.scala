package io.github.kinesisspark.config

import java.net.URI

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import scala.concurrent.duration._

class OptionValueTest extends AnyFunSuite with ScalaCheckPropertyChecks {

  test("sizes are parsed as bytes or powers of 1024, in either case, with or without B") {
    val expected = Seq(
      "1"         -> 1L,
      "100b"      -> 100L,
      "64m"       -> (64L << 20),
      "64M"       -> (64L << 20),
      "64mb"      -> (64L << 20),
      "64 MiB"    -> (64L << 20),
      "1g"        -> (1L << 30),
      "2k"        -> 2048L,
      "1t"        -> (1L << 40),
      "268435456" -> (256L << 20)
    )
    for ((text, bytes) <- expected) assert(OptionValue.size(text) == Right(bytes), text)
  }

  test("malformed, zero, negative and overflowing sizes are refused") {
    for (text <- Seq("", "0", "-1", "1.5g", "m", "1x", "9999999999g", "99999999999999999999", "0x10", "1 m m"))
      assert(OptionValue.size(text).isLeft, text)
  }

  test("durations are parsed in Spark's form, in short form and as plain milliseconds") {
    val expected = Seq(
      "10 seconds"        -> 10.seconds,
      "1 second"          -> 1.second,
      "15m"               -> 15.minutes,
      "15 MINUTES"        -> 15.minutes,
      "500ms"             -> 500.millis,
      "500"               -> 500.millis,
      "1 hour 30 minutes" -> 90.minutes,
      "1h30m"             -> 90.minutes,
      "2d"                -> 48.hours,
      "0"                 -> 0.millis,
      "0s"                -> 0.millis
    )
    for ((text, time) <- expected) assert(OptionValue.duration(text) == Right(time), text)
  }

  test("malformed, negative and overflowing durations are refused") {
    for (
      text <- Seq(
        "",
        "-1s",
        "1.5s",
        "s",
        "10 fortnights",
        "1 month",
        "10 seconds ago",
        "99999999999999d",
        "9223372036854775807"
      )
    )
      assert(OptionValue.duration(text).isLeft, text)
  }

  test("a whole number with a unit is parsed as that many units") {
    forAll(Gen.choose(0L, 100_000L), Gen.oneOf("ms" -> 1L, "s" -> 1000L, "min" -> 60_000L, "hours" -> 3_600_000L)) {
      case (n, (unit, millis)) => assert(OptionValue.duration(s"$n $unit").map(_.toMillis) == Right(n * millis))
    }
  }

  test("endpoints are accepted only as scheme, host and port") {
    val expected = Seq(
      "http://localhost:4567"                       -> "http://localhost:4567",
      "HTTPS://kinesis.eu-west-1.amazonaws.com/"    -> "https://kinesis.eu-west-1.amazonaws.com",
      "http://[::1]:4567"                           -> "http://[::1]:4567",
      "https://vpce-1-a.kinesis.vpce.amazonaws.com" -> "https://vpce-1-a.kinesis.vpce.amazonaws.com"
    )
    for ((text, uri) <- expected) assert(OptionValue.endpoint(text) == Right(new URI(uri)), text)
    for (
      text <- Seq(
        "localhost:4567",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host:0",
        "http://user:pw@host",
        "http://host/path",
        "http://host?x=1",
        "http://a b",
        ""
      )
    )
      assert(OptionValue.endpoint(text).isLeft, text)
  }

  test("an endpoint whose host has an underscore is refused because of it") {
    for (text <- Seq("http://kinesis_mock:4567", "https://a_b.example.com"))
      assert(OptionValue.endpoint(text).left.exists(_.contains("no underscore")), text)
    assert(OptionValue.endpoint("http://host/a_b").left.exists(!_.contains("underscore")))
  }

  test("the reason of a refused value does not contain the value") {
    val parsers = OptionRegistry.all.filterNot(_.kind.name == "list").map(_.kind)
    forAll(Gen.stringOfN(12, Gen.alphaNumChar)) { value =>
      for (parse <- parsers; why <- parse(s"~$value").left.toOption) assert(!why.contains(value))
    }
  }
}
