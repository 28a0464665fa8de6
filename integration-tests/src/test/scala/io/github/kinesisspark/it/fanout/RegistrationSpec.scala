package io.github.kinesisspark.it.fanout

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.{AwsCall, KinesisException}
import io.github.kinesisspark.config.{FanOutOptions, SourceOptions}
import io.github.kinesisspark.read.catalog.ConsumerLifecycle
import io.github.kinesisspark.read.reader.ResolvedPublisher
import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, KinesisServer, Occurrence}
import io.github.kinesisspark.testkit.model.ConsumerDelays

import scala.concurrent.duration._

/** Tests how a query registers or finds its consumers in each state, and deregisters them when it stops. */
final class RegistrationSpec extends AnyFunSpec with Matchers {

  private val app = "efo.consumerName" -> "app"

  private def in[A](world: ConsumerWorld)(body: ConsumerWorld => A): A =
    try body(world)
    finally world.close()

  private def refuse(server: KinesisServer, action: String, code: String, message: String, when: Occurrence): Unit =
    server.faults.add(FaultRule(FaultEffect.ServiceCode(code, message), Some(action), occurrence = when))

  describe("a consumer given by name") {
    it("is registered if it does not exist, and awaited until ACTIVE") {
      in(new ConsumerWorld) { world =>
        val stream   = world.newStream()
        val resolved = world.resolve(stream)(app)
        resolved.keySet shouldBe Set(stream)
        (resolved(stream).stream, resolved(stream).name) shouldBe ((stream, "app"))
        world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
        world.calls("RegisterStreamConsumer") shouldBe 1
        world.waits.map(_.toMillis) shouldBe Seq(100, 150, 225, 337, 506, 759, 1139, 1708)
      }
    }

    it("gets the tags of efo.tags when it is registered, and keeps its own when it is found") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val tags   = "efo.tags" -> "team=data,env=prod"
        val made   = world.resolve(stream)(app, tags)(stream)
        world.others(stream).tags(made) - FanOutOptions.OwnerTag shouldBe Map("team" -> "data", "env" -> "prod")
        val found = world.others(stream).register("other")
        world.resolve(stream)("efo.consumerName" -> "other", tags) shouldBe Map(stream -> found)
        world.others(stream).tags(found) shouldBe empty
      }
    }

    it("is used as it is if it is ACTIVE, as after a crash") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val arn    = world.others(stream).register("app")
        world.pass(4.seconds)
        world.resolve(stream)(app) shouldBe Map(stream -> arn)
        world.calls("RegisterStreamConsumer") shouldBe 1
        world.waits shouldBe empty
      }
    }

    it("is awaited if it is CREATING") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val arn    = world.others(stream).register("app")
        world.resolve(stream)(app) shouldBe Map(stream -> arn)
        world.calls("RegisterStreamConsumer") shouldBe 1
        world.waits should not be empty
      }
    }

    it("is registered again after it is deleted if it is DELETING") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val old    = world.others(stream).register("app")
        world.pass(4.seconds)
        world.others(stream).deregister("app")
        world.resolve(stream)(app)(stream) should not be old
        world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
      }
    }

    it("is registered again if it is deleted while CREATING") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        world.meanwhile = () => world.others(stream).deregister("app")
        val arn = world.resolve(stream)(app)(stream)
        world.calls("RegisterStreamConsumer") shouldBe 2
        world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
        world.resolve(stream)(app)(stream) shouldBe arn
      }
    }

    it("is used if another query registers it at the same moment") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        refuse(world.server, "RegisterStreamConsumer", "ResourceInUseException", "exists", Occurrence.First(1))
        // By the next look it is there.
        world.server.faults.list.size shouldBe 1
        world.meanwhile = () => { world.server.faults.clear(); world.others(stream).register("app"): Unit }
        world.resolve(stream)(app)
        world.calls("RegisterStreamConsumer") shouldBe 2
        world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
      }
    }

    it("fails the query if it does not become ACTIVE") {
      in(new ConsumerWorld(ConsumerDelays(create = 1.hour, delete = 2.seconds))) { world =>
        val stream  = world.newStream()
        val failure = intercept[KinesisException](world.resolve(stream)(app))
        failure.errorClass shouldBe "KINESIS_CONSUMER_NOT_READY"
        failure.getMessage should include(s"consumer app of stream $stream")
        failure.getMessage should include("is CREATING. It was described")
        world.waits.map(_.toMillis).sum.millis should (be > 14.minutes and be <= 15.minutes + 5.seconds)
      }
    }

    it("is polled for its status as often and as long as the options say") {
      in(new ConsumerWorld(ConsumerDelays(create = 1.hour, delete = 2.seconds))) { world =>
        val retries =
          Seq("maxRetries" -> "3", "backoff.base" -> "100", "backoff.max" -> "1s", "backoff.expConst" -> "4.0")
        val patience = retries.map { case (key, value) => s"describeStreamConsumer.$key" -> value }
        intercept[KinesisException](world.resolve(world.newStream())((patience :+ app)*))
        world.waits.map(_.toMillis) shouldBe Seq(50, 200, 500)
      }
    }
  }

  describe("a limit of stream consumers") {
    it("on calls is retried after waits, which are counted in the metrics") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        refuse(world.server, "RegisterStreamConsumer", "LimitExceededException", "Rate exceeded", Occurrence.First(3))
        val consumers = world.open(stream)(app)
        try {
          consumers.resolve()
          world.waits.take(3).map(_.toMillis) shouldBe Seq(100, 150, 225)
          consumers.calls.calls(AwsCall.RegisterStreamConsumer) shouldBe 4
          (consumers.calls.waits, consumers.calls.waitedMillis) shouldBe ((
            world.waits.size,
            world.waits.map(_.toMillis).sum
          ))
        } finally consumers.close()
      }
    }

    it("on calls fails the query after maxRetryDuration") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        refuse(world.server, "RegisterStreamConsumer", "LimitExceededException", "Rate exceeded", Occurrence.Always)
        val failure = intercept[KinesisException](world.resolve(stream)(app))
        failure.errorClass shouldBe "KINESIS_THROTTLED"
        failure.getMessage should include(s"RegisterStreamConsumer failed for consumer app of stream $stream")
        world.waits.map(_.toMillis).sum.millis should (be > 14.minutes and be <= 15.minutes + 5.seconds)
      }
    }

    it("of 5 calls per second and account delays the registration in 12 streams") {
      in(new ConsumerWorld(ConsumerDelays(Duration.Zero, Duration.Zero), enforceLimits = true)) { world =>
        val streams = Seq.fill(12)(world.newStream())
        world.resolve(streams*)(app).keySet shouldBe streams.toSet
        world.waits should not be empty
      }
    }

    it("of 5 consumers in CREATING delays the registration") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        (1 to 5).foreach(i => world.others(stream).register(s"other-$i"))
        world.resolve(stream)(app)
        world.others(stream).list() should have size 6
      }
    }

    it("of 20 consumers fails the query, and the error lists the registered consumers") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        (1 to 20).foreach { i =>
          world.others(stream).register(s"other-$i")
          world.pass(4.seconds)
        }
        val failure = intercept[KinesisException](world.resolve(stream)(app))
        failure.errorClass shouldBe "KINESIS_CONSUMER_QUOTA"
        for (
          word <- Seq(stream.text, "20 consumers", "other-1,", "other-20", "50 with On-demand Advantage", "Deregister")
        )
          failure.getMessage should include(word)
      }
    }

    it("is retried if listing consumers is denied") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        refuse(world.server, "RegisterStreamConsumer", "LimitExceededException", "limit", Occurrence.First(1))
        refuse(world.server, "ListStreamConsumers", "AccessDeniedException", "no", Occurrence.Always)
        world.resolve(stream)(app)
        world.calls("ListStreamConsumers") shouldBe 1
      }
    }
  }

  describe("a failed registration") {
    it("without permission fails at once with the permission and the consumer") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        refuse(world.server, "RegisterStreamConsumer", "AccessDeniedException", "not authorized", Occurrence.Always)
        val failure = intercept[KinesisException](world.resolve(stream)(app))
        failure.errorClass shouldBe "KINESIS_ACCESS_DENIED"
        failure.getMessage should include("kinesis:RegisterStreamConsumer")
        failure.getMessage should include(s"consumer app of stream $stream")
        world.waits shouldBe empty
      }
    }

    it("in a missing stream fails with the stream's name or ARN") {
      in(new ConsumerWorld) { world =>
        val nowhere = world.newStream().text + "-not"
        val byArn   = world.options()(app) - "streamName" + ("streamArn" -> nowhere)
        val failure = intercept[KinesisException] {
          val consumers = world.open(byArn)
          try consumers.resolve()
          finally consumers.close()
        }
        failure.errorClass shouldBe "KINESIS_NOT_FOUND"
        failure.getMessage should include(nowhere)
        intercept[KinesisException](world.open(world.options()(app, "streamName" -> "nowhere"))).getMessage should
          include("nowhere")
      }
    }

    it("is retried after an internal failure of the service") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        refuse(world.server, "RegisterStreamConsumer", "InternalFailure", "oops", Occurrence.First(2))
        refuse(world.server, "DescribeStreamConsumer", "InternalFailure", "oops", Occurrence.First(2))
        world.resolve(stream)(app).keySet shouldBe Set(stream)
      }
    }
  }

  describe("several queries") {
    it("with different consumer names read one stream at once") {
      in(new ConsumerWorld) { world =>
        val stream       = world.newStream()
        val (one, other) = (world.open(stream)(app), world.open(stream)("efo.consumerName" -> "other"))
        try one.resolve()(stream) should not be other.resolve()(stream)
        finally Seq(one, other).foreach(_.close())
      }
    }

    it("with one consumer name: the second is refused, and the first keeps its consumer") {
      in(new ConsumerWorld) { world =>
        val stream         = world.newStream()
        val (first, again) = (world.open(stream)(app), world.open(stream)(app))
        try {
          val arn     = first.resolve()
          val failure = intercept[KinesisException](again.resolve())
          failure.errorClass shouldBe "KINESIS_CONSUMER_IN_USE"
          for (word <- Seq(stream.text, "app", "efo.consumerName")) failure.getMessage should include(word)
          again.release()
          again.close()
          world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
          first.resolve() shouldBe arn
          first.close()
          world.resolve(stream)(app) shouldBe arn
        } finally Seq(first, again).foreach(_.close())
      }
    }
  }

  describe("a batch read") {
    it("keeps no consumer from others, and polls while a query reads through its own") {
      in(new ConsumerWorld) { world =>
        val stream  = world.newStream()
        val options = SourceOptions.parse(world.options(stream)(app))
        // The second begins while the first waits for its consumer.
        var second = Option.empty[ResolvedPublisher]
        world.meanwhile = () => second = Some(ConsumerLifecycle.ofBatch(options, world.clients))
        val first = ConsumerLifecycle.ofBatch(options, world.clients)
        first shouldBe a[ResolvedPublisher.FanOut]
        second shouldBe Some(first)
        val query = world.open(stream)(app)
        try {
          ResolvedPublisher.FanOut(query.resolve()) shouldBe first
          ConsumerLifecycle.ofBatch(options, world.clients) shouldBe ResolvedPublisher.Polling
        } finally query.close()
        ConsumerLifecycle.ofBatch(options, world.clients) shouldBe first
      }
    }
  }

  describe("several streams") {
    it("of two servers have one consumer each under the same name") {
      in(new ConsumerWorld) { here =>
        in(new ConsumerWorld(clock = here.clock)) { there =>
          val (a, b)  = (here.newStream(), there.newStream())
          val options = here.options(a, b)(app, s"stream.${b.name}.endpoint" -> there.server.endpoint.toString)
          val both    = here.open(options)
          try {
            both.resolve().map { case (stream, arn) => (stream, arn.stream, arn.name) }.toSet shouldBe
              Set((a, a, "app"), (b, b, "app"))
            (here.others(a).list().keySet, there.others(b).list().keySet) shouldBe ((Set("app"), Set("app")))
          } finally both.close()
        }
      }
    }

    it("can mix a consumer given by ARN and a registered one") {
      in(new ConsumerWorld) { world =>
        val (a, b)     = (world.newStream(), world.newStream())
        val registered = world.others(b).register("mine")
        world.resolve(a, b)(app, s"efo.consumerArn.${b.name}" -> registered.text)(b) shouldBe registered
        (world.others(a).list().keySet, world.others(b).list().keySet) shouldBe ((Set("app"), Set("mine")))
      }
    }
  }

  describe("efo.registration=none") {
    def none(arn: String, stream: String) = Seq("efo.registration" -> "none", s"efo.consumerArn.$stream" -> arn)

    it("uses the given consumer once it is ACTIVE, and registers none") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val arn    = world.others(stream).register("mine")
        world.resolve(stream)(none(arn.text, stream.name)*) shouldBe Map(stream -> arn)
        world.waits should not be empty
        world.calls("RegisterStreamConsumer") shouldBe 1
      }
    }

    it("refuses a consumer that is missing, registered again or DELETING") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val old    = world.others(stream).register("mine")
        world.pass(4.seconds)
        world.others(stream).deregister("mine")
        def failure() = intercept[KinesisException](world.resolve(stream)(none(old.text, stream.name)*))
        val deleting  = failure()
        world.pass(2.seconds)
        val gone = failure()
        world.others(stream).register("mine")
        val replaced = failure()
        for (e <- Seq(deleting, gone, replaced)) {
          e.errorClass shouldBe "KINESIS_NOT_FOUND"
          e.getMessage should include(old.text)
        }
        deleting.getMessage should include("DELETING")
        world.waits shouldBe empty
      }
    }

    it("refuses a consumer of another account's stream with the same name") {
      in(new ConsumerWorld) { world =>
        val stream  = world.newStream()
        val other   = s"${stream.text.replace("000000000000", "123456789012")}/consumer/mine:1"
        val failure = intercept[KinesisException](world.resolve(stream)(none(other, stream.name)*))
        failure.errorClass shouldBe "KINESIS_CONSUMER_MISMATCH"
        for (word <- Seq(other, stream.text, s"efo.consumerArn.${stream.name}")) failure.getMessage should include(word)
      }
    }
  }

  describe("efo.registration=eager") {
    it("registers at load without waiting, and deregisters at the end, where lazy does not register") {
      in(new ConsumerWorld) { world =>
        val stream              = world.newStream()
        def begin(when: String) = world.begin(world.options(stream)(app, "efo.registration" -> when))
        begin("lazy")
        world.others(stream).list() shouldBe empty
        begin("eager")
        world.others(stream).list() shouldBe Map("app" -> "CREATING")
        val consumers = world.open(stream)(app, "efo.registration" -> "eager")
        try {
          consumers.resolve()
          world.calls("RegisterStreamConsumer") shouldBe 1
          consumers.release()
          world.others(stream).list() shouldBe Map("app" -> "DELETING")
        } finally consumers.close()
      }
    }
  }

  describe("a consumer that is deleted while a query uses it") {
    it("is registered again under a new ARN, and an existing one is kept") {
      in(new ConsumerWorld) { world =>
        val stream    = world.newStream()
        val consumers = world.open(stream)(app)
        try {
          val before = consumers.resolve()(stream)
          consumers.renew(stream) shouldBe before
          world.others(stream).deregister("app")
          val after = consumers.renew(stream)
          after should not be before
          consumers.renew(stream) shouldBe after
          consumers.release()
          world.others(stream).list() shouldBe Map("app" -> "DELETING")
        } finally consumers.close()
      }
    }

    it("fails the query if it was given by ARN") {
      in(new ConsumerWorld) { world =>
        val stream    = world.newStream()
        val arn       = world.others(stream).register("mine")
        val consumers = world.open(stream)(s"efo.consumerArn.${stream.name}" -> arn.text)
        try {
          consumers.resolve()
          world.others(stream).deregister("mine")
          intercept[KinesisException](consumers.renew(stream)).errorClass shouldBe "KINESIS_NOT_FOUND"
        } finally consumers.close()
      }
    }
  }

  describe("a query that stops") {
    it("deregisters a consumer that it found if deregisterOnStop is true, and otherwise keeps it") {
      in(new ConsumerWorld) { world =>
        def statusAfter(more: (String, String)*) = {
          val stream     = world.newStream()
          val registered = world.others(stream).register("app")
          val options    = more.map { case (key, value) =>
            key.replace("<stream>", stream.name) -> value.replace("<arn>", registered.text)
          }
          val consumers = world.open(stream)(options*)
          try {
            consumers.resolve()
            consumers.release()
          } finally consumers.close()
          world.others(stream).list()("app")
        }
        statusAfter(app, "efo.deregisterOnStop" -> "true") shouldBe "DELETING"
        statusAfter(app) shouldBe "ACTIVE"
        statusAfter(app, "efo.deregisterOnStop" -> "registered") shouldBe "ACTIVE"
        statusAfter(app, "efo.deregisterOnStop" -> "false") shouldBe "ACTIVE"
        statusAfter("efo.consumerArn.<stream>" -> "<arn>") shouldBe "ACTIVE"
      }
    }

    it("keeps a consumer that another query of the application registered and kept") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        for (kept <- Seq(Seq("efo.deregisterOnStop" -> "false"), Nil)) {
          val consumers = world.open(stream)((app +: kept)*)
          try {
            consumers.resolve()
            consumers.release()
          } finally consumers.close()
        }
        world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
      }
    }

    it("and starts again at once registers a new consumer") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val arns   = Seq.fill(3) {
          val consumers = world.open(stream)(app)
          try {
            val arn = consumers.resolve()(stream)
            consumers.release()
            arn
          } finally consumers.close()
        }
        arns.distinct should have size 3
      }
    }

    it("does not deregister a consumer that was registered by others since, and ignores a missing one") {
      in(new ConsumerWorld) { world =>
        val stream    = world.newStream()
        val consumers = world.open(stream)(app)
        try {
          consumers.resolve()
          world.others(stream).deregister("app")
          world.pass(2.seconds)
          world.others(stream).register("app")
          world.pass(4.seconds)
          consumers.release()
          consumers.release()
          world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
        } finally consumers.close()
      }
    }

    it("retries a busy deregistration, and stops even if it is denied") {
      in(new ConsumerWorld) { world =>
        val stream    = world.newStream()
        val consumers = world.open(stream)(app)
        try {
          consumers.resolve()
          refuse(world.server, "DeregisterStreamConsumer", "ResourceInUseException", "busy", Occurrence.First(2))
          consumers.release()
          world.others(stream).list() shouldBe Map("app" -> "DELETING")
          consumers.resolve()
          refuse(world.server, "DeregisterStreamConsumer", "AccessDeniedException", "no", Occurrence.Always)
          consumers.release()
          world.others(stream).list() shouldBe Map("app" -> "ACTIVE")
        } finally consumers.close()
      }
    }
  }
}
