package io.github.kinesisspark.it.fanout

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.{StreamConsumers, StreamConsumersJson}
import io.github.kinesisspark.aws.{ConsumerStatus, KinesisException, StreamConsumer}
import io.github.kinesisspark.config.OptionException
import io.github.kinesisspark.position.StreamArn
import io.github.kinesisspark.testkit.model.ConsumerDelays

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Tests StreamConsumers, the API to manage consumers outside of queries. */
final class StreamConsumersSpec extends AnyFunSpec with Matchers {
  private val atOnce = ConsumerDelays(Duration.Zero, Duration.Zero)

  private def in[A](delays: ConsumerDelays = atOnce)(body: (ConsumerWorld, StreamArn, StreamArn) => A): A = {
    val world = new ConsumerWorld(delays)
    try body(world, world.newStream(), world.newStream())
    finally world.close()
  }

  /** As a query would have it that has no consumer yet. */
  private def consumers(world: ConsumerWorld, streams: StreamArn*)(more: (String, String)*) =
    new StreamConsumers(world.options(streams*)(more*))

  it("StreamConsumers registers, describes, lists and deregisters a consumer in all streams") {
    in() { (world, a, b) =>
      val both       = consumers(world, a, b)()
      val registered = both.register("app")
      registered.map(c => (c.arn.stream, c.name)) shouldBe Seq((a, "app"), (b, "app"))
      both.register("app") shouldBe registered
      both.awaitActive("app").map(_.status).distinct shouldBe Seq(ConsumerStatus.Active)
      consumers(world, b)().register("other")
      both.list().map(c => (c.arn.stream, c.name)) shouldBe Seq((a, "app"), (b, "app"), (b, "other"))
      both.describe("other").map(_.arn.stream) shouldBe Seq(b)
      both.deregister("app").map(_.arn) shouldBe registered.map(_.arn)
      both.deregister("app") shouldBe empty
      both.list().map(_.name) shouldBe Seq("other")
    }
  }

  it("StreamConsumers.register does not wait for ACTIVE, and awaitActive fails if it takes too long") {
    in(ConsumerDelays(1.hour, 1.hour)) { (world, a, _) =>
      val some = consumers(world, a)("describeStreamConsumer.maxRetries" -> "0")
      some.register("app").map(_.status) shouldBe Seq(ConsumerStatus.Creating)
      intercept[KinesisException](some.awaitActive("app")).errorClass shouldBe "KINESIS_CONSUMER_NOT_READY"
    }
  }

  it("StreamConsumers reports missing consumers and streams, and refuses an invalid name") {
    in() { (world, a, _) =>
      val some = consumers(world, a)()
      some.describe("app") shouldBe empty
      intercept[KinesisException](some.awaitActive("app")).errorClass shouldBe "KINESIS_NOT_FOUND"
      intercept[OptionException](some.register("my app")).getMessage should include("'my app'")
      val nowhere = new StreamConsumers(world.options()("streamName" -> "nowhere"))
      for (call <- Seq[() => Any](() => nowhere.list(), () => nowhere.register("app")))
        intercept[KinesisException](call()).getMessage should include("nowhere")
    }
  }

  it(
    "StreamConsumers.deregisterOld deregisters only consumers of the prefix and age that no query of the application uses"
  ) {
    in() { (world, a, b) =>
      // The query's endpoint is written otherwise.
      val endpoint = "endpoint" -> s"http://localhost:${world.server.endpoint.getPort}"
      val some     = new StreamConsumers(world.options(a, b)(endpoint), world.clients)
      for (name <- Seq("app-used", "app-left", "other")) world.others(a).register(name)
      world.others(b).register("app-left")
      world.pass(3.days)
      world.others(b).register("app-new")
      val query = world.open(a)("efo.consumerName" -> "app-used")
      try {
        query.resolve()
        def names(found: Seq[StreamConsumer]) = found.map(c => (c.arn.stream, c.name))
        val old                               = Seq((a, "app-left"), (b, "app-left"))
        names(some.listOld("app-", 2.days)) shouldBe old
        some.listOld("app-", 4.days) shouldBe empty
        world.others(b).list().keySet shouldBe Set("app-left", "app-new")
        names(some.deregisterOld("app-", 2.days)) shouldBe old
        world.others(a).list().keySet shouldBe Set("app-used", "other")
        world.others(b).list().keySet shouldBe Set("app-new")
        intercept[OptionException](some.deregisterOld("", 2.days)).getMessage should include("name")
      } finally query.close()
    }
  }

  it("StreamConsumers accepts the options of any query, and refuses invalid ones") {
    in() { (world, a, _) =>
      consumers(world, a)("recordPublisher" -> "polling", "maxRecordsPerTrigger" -> "10").list() shouldBe empty
      consumers(world, a)("efo.registration" -> "none").list() shouldBe empty
      intercept[OptionException](consumers(world, a)("listStreamConsumers.maxRetries" -> "many")).problems should
        have size 1
      intercept[OptionException](new StreamConsumers(Map.empty)).getMessage should include("streamName")
    }
  }

  it("StreamConsumersJson returns consumers as JSON") {
    in() { (world, a, _) =>
      val options  = world.options(a)().asJava
      val Seq(app) = ujson.read(StreamConsumersJson.register(options, "app")).arr.toSeq: @unchecked
      app("streamArn").str shouldBe a.text
      app("name").str shouldBe "app"
      app("arn").str should startWith(s"$a/consumer/app:")
      app("status").str shouldBe "ACTIVE"
      app("createdMillis").num.toLong shouldBe world.clock.millis
      ujson.read(StreamConsumersJson.listOld(options, "a", 0)).arr.toSeq shouldBe Seq(app)
      StreamConsumersJson.deregisterOld(options, "b", 0) shouldBe "[]"
      for (
        json <- Seq(
          StreamConsumersJson.awaitActive(options, "app"),
          StreamConsumersJson.describe(options, "app"),
          StreamConsumersJson.list(options),
          StreamConsumersJson.deregister(options, "app")
        )
      ) ujson.read(json).arr.toSeq shouldBe Seq(app)
      StreamConsumersJson.list(options) shouldBe "[]"
    }
  }
}
