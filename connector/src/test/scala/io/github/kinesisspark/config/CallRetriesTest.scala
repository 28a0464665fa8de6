package io.github.kinesisspark.config

import scala.concurrent.duration._

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class CallRetriesTest extends AnyFunSuite with ScalaCheckPropertyChecks {
  private def source(options: (String, String)*): CallRetries =
    SourceOptions.parse(Map("streamName" -> "orders") ++ options).client.retries

  private def sink(options: (String, String)*): CallRetries = SinkOptions.parse(options.toMap).client.retries

  private def problem(parse: => CallRetries): String = {
    val problems = intercept[OptionException](parse).problems
    assert(problems.size == 1, problems)
    problems.head
  }

  private val flip128   = RetryOptions(None, 200.millis, 1.second, 1.5)
  private val directory = RetryOptions(None, 300.millis, 5.seconds, 2.0)
  private val polling   = RetryOptions(None, 250.millis, 5.seconds, 2.0)
  private val identity  = RetryOptions(Some(3), 100.millis, 20.seconds, 2.0)

  private val defaults = Map(
    "DescribeStreamSummary"     -> directory,
    "ListShards"                -> directory,
    "GetShardIterator"          -> polling,
    "GetRecords"                -> polling,
    "SubscribeToShard"          -> RetryOptions(None, 1.second, 2.seconds, 1.5),
    "RegisterStreamConsumer"    -> flip128,
    "DescribeStreamConsumer"    -> RetryOptions(None, 200.millis, 5.seconds, 1.5),
    "ListStreamConsumers"       -> flip128,
    "DeregisterStreamConsumer"  -> flip128,
    "ListTagsForResource"       -> flip128,
    "TagResource"               -> flip128,
    "PutRecords"                -> RetryOptions(None, 200.millis, 10.seconds, 2.0),
    "PutMetricData"             -> RetryOptions(Some(0), 200.millis, 5.seconds, 2.0),
    "AssumeRole"                -> identity,
    "AssumeRoleWithWebIdentity" -> identity,
    "GetRoleCredentials"        -> identity,
    "CreateToken"               -> identity,
    "CreateOAuth2Token"         -> identity
  )

  private val ofSink = Set("ListShards", "PutRecords") ++ defaults.collect { case (call, `identity`) => call }

  test("each call has defaults of its own, and maxRetryDuration bounds all of them") {
    assert(CallRetries.default == CallRetries(defaults, 15.minutes))
    assert(source() == CallRetries.default && sink() == CallRetries.default)
    assert(source("maxRetryDuration" -> "1h").maxDuration == 1.hour)
  }

  private def optionsOf(call: String, retry: RetryOptions) = {
    val prefix = s"${call.head.toLower}${call.tail}"
    Seq(
      s"$prefix.maxRetries"       -> retry.maxRetries.get.toString,
      s"$prefix.backoff.base"     -> retry.base.toMillis.toString,
      s"$prefix.backoff.max"      -> s"${retry.max.toMillis}ms",
      s"$prefix.backoff.expConst" -> retry.factor.toString
    )
  }

  test("the four options of a call change its retries, and those of no other call") {
    val some = for {
      call   <- Gen.oneOf(defaults.keys.toSeq)
      n      <- Gen.choose(0, 100)
      base   <- Gen.choose(1L, 10_000L)
      more   <- Gen.choose(0L, 100_000L)
      factor <- Gen.choose(100, 400).map(_ / 100.0)
    } yield (call, RetryOptions(Some(n), base.millis, (base + more).millis, factor))
    forAll(some) { case (call, retry) =>
      val expected = CallRetries(defaults.updated(call, retry), 15.minutes)
      if (call != "PutRecords") assert(source(optionsOf(call, retry): _*) == expected)
      if (ofSink(call)) assert(sink(optionsOf(call, retry): _*) == expected)
    }
  }

  test("a call of the other side is refused") {
    assert(problem(source("putRecords.maxRetries" -> "1")).contains("is an option of the sink"))
    for (call <- defaults.keySet -- ofSink)
      assert(problem(sink(s"$call.backoff.base" -> "1s")).contains("is an option of the source"), call)
  }

  test("values outside their range are refused with the reason, mistyped names with a suggestion") {
    def wrong(option: String, value: String) = problem(source(option -> value))
    assert(wrong("subscribeToShard.maxRetries", "-1").contains("a whole number, 0 or more"))
    assert(wrong("getRecords.backoff.base", "0").contains("at least 1 millisecond"))
    val crossed = wrong("subscribeToShard.backoff.base", "3s")
    assert(crossed.contains("(3 seconds) is more than") && crossed.contains("backoff.max' (2 seconds)"))
    for (no <- Seq("0.9", "NaN", "-1.5", "1,5", "1e999", ""))
      assert(wrong("listShards.backoff.expConst", no).contains("a number of at least 1.0"))
    assert(wrong("registerStreamConsumer.maxRetrys", "1").contains("Did you mean 'registerStreamConsumer.maxRetries'?"))
    assert(wrong("getRecord.maxRetries", "1").contains("Did you mean 'getRecords.maxRetries'?"))
  }
}
