package io.github.kinesisspark.config

import io.github.kinesisspark.position.ConsumerArn
import org.scalatest.funsuite.AnyFunSuite

class FanOutOptionsTest extends AnyFunSuite {
  import ConsumerChoice._

  private val account   = "arn:aws:kinesis:eu-west-1:000000000000:stream"
  private val ofOrders  = s"$account/orders/consumer/app:1525898737"
  private val ofRefunds = s"$account/refunds/consumer/app:1525898738"
  private val orders    = StreamRef.ByName("orders")
  private val refunds   = StreamRef.ByName("refunds")

  private def parse(options: (String, String)*): Option[FanOutOptions] = {
    val base = Map("streamName" -> "orders", "recordPublisher" -> "efo")
    SourceOptions.parse(base ++ options).fanOut
  }

  private def fanOut(options: (String, String)*): FanOutOptions = parse(options*).getOrElse(fail("not fan-out"))

  private def problems(options: (String, String)*): Seq[String] =
    intercept[OptionException](parse(options*)).problems

  private def assertReports(reported: Seq[String], words: String*): Unit = {
    assert(reported.size == 1, reported)
    words.foreach(word => assert(reported.head.contains(word)))
  }

  test("efo.consumerName is the only required option") {
    assert(
      fanOut("efo.consumerName" -> "app") == FanOutOptions(
        Map(orders -> Registered("app", RegistrationTime.Lazy, Deregistration.OfRegistered)),
        Map.empty
      )
    )
  }

  test("efo.tags are keys and values, and are refused where AWS would refuse them or nothing is registered") {
    val app                 = "efo.consumerName" -> "app"
    def tags(text: String)  = fanOut(app, "efo.tags" -> text).tags
    def wrong(text: String) = problems(app, "efo.tags" -> text)
    assert(
      tags("team=data, env = prod,note=a=b,empty=") ==
        Map("team" -> "data", "env" -> "prod", "note" -> "a=b", "empty" -> "")
    )
    for (text <- Seq("team", "=data", "a=b,", "aws:team=data", "team=a;b"))
      assertReports(wrong(text), "efo.tags", "key=value")
    assertReports(wrong("a=1,a=2"), "different keys")
    assertReports(wrong((1 to 51).map(i => s"k$i=v").mkString(",")), "at most 50")
    assertReports(
      problems("efo.registration" -> "none", "efo.consumerArn.orders" -> ofOrders, "efo.tags" -> "a=b"),
      "registers no consumer to tag"
    )
  }

  test("registration, deregisterOnStop and consumerName are parsed in any case") {
    assert(
      fanOut("efo.consumername" -> "app", "EFO.registration" -> "EAGER", "efo.deregisterOnStop" -> "FALSE").consumers ==
        Map(orders -> Registered("app", RegistrationTime.Eager, Deregistration.OfNone))
    )
  }

  test("with efo.registration=none each stream uses the consumer of its efo.consumerArn") {
    val options = fanOut(
      "streamName"              -> "orders,refunds",
      "efo.registration"        -> "none",
      "efo.consumerArn.refunds" -> ofRefunds,
      "efo.consumerArn.orders"  -> ofOrders
    )
    assert(
      options.consumers == Map(orders -> Given(ConsumerArn(ofOrders)), refunds -> Given(ConsumerArn(ofRefunds)))
    )
  }

  test("a stream's consumer ARN overrides consumerName, which is optional if all streams have an ARN") {
    val some = fanOut(
      "streamName"              -> "orders,refunds",
      "efo.consumerName"        -> "app",
      "efo.consumerArn.refunds" -> ofRefunds
    )
    assert(some.consumers(refunds) == Given(ConsumerArn(ofRefunds)))
    assert(some.consumers(orders) == Registered("app", RegistrationTime.Lazy, Deregistration.OfRegistered))
    assert(fanOut("efo.consumerArn.orders" -> ofOrders).consumers == Map(orders -> Given(ConsumerArn(ofOrders))))
  }

  test("two streams of one name in two regions take consumer ARNs by their stream ARNs") {
    val other   = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
    val options = SourceOptions.parse(
      Map(
        "recordPublisher"                  -> "efo",
        "streamArn"                        -> s"$account/orders,$other",
        s"efo.consumerArn.$account/orders" -> ofOrders,
        s"efo.consumerArn.$other"          -> s"$other/consumer/app:1"
      )
    )
    assert(
      options.streams.map(s => options.fanOut.get.consumers(s.stream)) ==
        Seq(Given(ConsumerArn(ofOrders)), Given(ConsumerArn(s"$other/consumer/app:1")))
    )
  }

  test("efo options are checked but not used while recordPublisher is polling") {
    val kept = Seq("recordPublisher" -> "polling", "efo.registration" -> "none", "efo.deregisterOnStop" -> "true")
    assert(parse(kept*).isEmpty)
    assertReports(
      problems((kept :+ ("efo.registration" -> "later"))*),
      "'efo.registration' must be one of lazy, eager, none"
    )
  }

  test("fan-out without a valid consumerName is refused if a stream lacks a consumer ARN") {
    assertReports(problems(), "'efo.consumerName' is missing", "efo.consumerArn.<stream>")
    assertReports(problems("efo.registration" -> "eager"), "'efo.consumerName' is missing")
    assertReports(problems("efo.consumerName" -> "my app"), "'efo.consumerName' must be 1 to 128 letters", "'my app'")
    assertReports(
      problems("streamName" -> "orders,refunds", "efo.consumerArn.orders" -> ofOrders),
      "'efo.consumerName'"
    )
  }

  test("efo.registration=none without a consumer ARN is refused, and each missing option is named") {
    assertReports(problems("efo.registration" -> "none"), "stream orders", "'efo.consumerArn.orders'")
    assert(
      problems("streamName" -> "orders,refunds", "efo.registration" -> "none", "efo.consumerName" -> "app").size == 2
    )
  }

  test("efo.registration=none is refused with deregisterOnStop=true and accepted with false") {
    val none = Seq("efo.registration" -> "none", "efo.consumerArn.orders" -> ofOrders)
    assertReports(
      problems((none :+ ("efo.deregisterOnStop" -> "true"))*),
      "'efo.deregisterOnStop' is true",
      "Leave it out"
    )
    assert(fanOut((none :+ ("efo.deregisterOnStop" -> "false"))*) == fanOut(none*))
  }

  test("efo.tags leave room for the connector's own tag unless deregisterOnStop is false, and can't have its key") {
    def tagged(count: Int) =
      Seq("efo.consumerName" -> "app", "efo.tags" -> (1 to count).map(i => s"k$i=v").mkString(","))
    val kept = "efo.deregisterOnStop" -> "false"
    assert(fanOut(tagged(49)*).tags.size == 49)
    assert(fanOut((tagged(50) :+ kept)*).tags.size == 50)
    assertReports(
      problems(tagged(50)*),
      "'efo.tags' has 50 tags",
      "kinesis-spark:query",
      "'efo.deregisterOnStop' to false"
    )
    assertReports(
      problems("efo.consumerName" -> "app", "efo.tags" -> "kinesis-spark:query=mine", kept),
      "'efo.tags' has the key kinesis-spark:query"
    )
  }

  test("a consumer ARN is refused if it is malformed or of another stream or region") {
    for (no <- Seq("app", s"$account/orders", s"$account/orders/consumer/app", s"$account/orders/consumer/a b:1"))
      assertReports(
        problems("efo.consumerArn.orders" -> no).filter(_.contains("must be")),
        "the ARN of a stream consumer",
        no
      )
    assertReports(problems("efo.consumerArn.orders" -> ofRefunds), s"a consumer of $account/refunds, not of orders")
    val elsewhere = problems(
      "streamName"             -> null,
      "streamArn"              -> "arn:aws:kinesis:us-east-1:000000000000:stream/orders",
      "efo.consumerArn.orders" -> ofOrders
    )
    assertReports(elsewhere, "not of arn:aws:kinesis:us-east-1")
  }

  test("a consumer ARN is refused if its stream is not read, missing, or given twice") {
    val name = "efo.consumerName" -> "app"
    assertReports(
      problems(name, "efo.consumerArn.ordres" -> ofOrders),
      "'ordres' is not read here",
      "'efo.consumerArn.orders'"
    )
    assertReports(problems(name, "efo.consumerArn" -> ofOrders), "lacks the stream", "efo.consumerArn.<stream>")
    assertReports(
      problems("efo.consumerArn.orders" -> ofOrders, "efo.consumerArn.ORDERS" -> ofOrders),
      "one option. Give it once"
    )
    assertReports(problems(name, "efo.consumerArn.<stream>" -> ofOrders), "'<stream>' is not read here")
  }
}
