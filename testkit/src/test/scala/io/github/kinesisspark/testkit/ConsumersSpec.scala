package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.ConsumerDelays
import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Stream consumers, from registration to deletion. */
class ConsumersSpec extends ServerSpec {
  import Clients._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(
      consumerDelays = ConsumerDelays(create = 4.seconds, delete = 2.seconds),
      control = ControlPlane(consumersKeepStream = true)
    )

  private def register(stream: String, name: String): Consumer =
    await(kinesis.registerStreamConsumer { (b: RegisterStreamConsumerRequest.Builder) =>
      b.streamARN(arnOf(stream)).consumerName(name); ()
    }).consumer

  private def describe(stream: String, name: String): ConsumerDescription =
    await(kinesis.describeStreamConsumer { (b: DescribeStreamConsumerRequest.Builder) =>
      b.streamARN(arnOf(stream)).consumerName(name); ()
    }).consumerDescription

  it("a consumer is CREATING, ACTIVE, DELETING and gone, and has a new ARN if registered again") {
    val stream = newStream(1)
    val first  = register(stream, "reader")
    first.consumerARN should startWith(s"${arnOf(stream)}/consumer/reader:")
    first.consumerStatus shouldBe ConsumerStatus.CREATING
    clock.advance(Duration.ofSeconds(4))
    describe(stream, "reader").consumerStatus shouldBe ConsumerStatus.ACTIVE
    kinesis.deregister(first.consumerARN)
    describe(stream, "reader").consumerStatus shouldBe ConsumerStatus.DELETING
    a[ResourceInUseException] should be thrownBy register(stream, "reader")
    clock.advance(Duration.ofSeconds(2))
    a[ResourceNotFoundException] should be thrownBy describe(stream, "reader")
    a[ResourceNotFoundException] should be thrownBy kinesis.deregister(first.consumerARN)
    register(stream, "reader").consumerARN should not be first.consumerARN
  }

  it("a consumer that is registered again within a second has a new ARN") {
    val registry   = model.ConsumerRegistry.empty(ConsumerDelays(0.seconds, 0.seconds))
    val (one, a)   = registry.register("c", "stream", 1000).toOption.get
    val (_, again) = one.deregister(a, 1000).register("c", "stream", 1000).toOption.get
    again.arn should not be a.arn
  }

  it("a consumer is refused under a taken name, as the 21st of a stream, or as the sixth in CREATING") {
    val stream = newStream(1)
    register(stream, "c-0")
    a[ResourceInUseException] should be thrownBy register(stream, "c-0")
    (1 until 5).foreach(i => register(stream, s"c-$i"))
    a[LimitExceededException] should be thrownBy register(stream, "c-5")
    (5 until 20).foreach { i =>
      clock.advance(Duration.ofSeconds(4))
      register(stream, s"c-$i")
    }
    clock.advance(Duration.ofSeconds(4))
    (the[LimitExceededException] thrownBy register(stream, "c-20")).awsErrorDetails.errorMessage should include("20")
    summary(stream).consumerCount shouldBe 20
  }

  it("a stream with registered consumers is deleted only with EnforceConsumerDeletion") {
    val stream = newStream(1)
    register(stream, "reader")
    def delete(enforce: Option[Boolean]): Unit = {
      await(kinesis.deleteStream { (b: DeleteStreamRequest.Builder) =>
        enforce.foreach(b.enforceConsumerDeletion(_)); b.streamName(stream); ()
      })
      ()
    }
    for (enforce <- Seq(None, Some(false)))
      (the[ResourceInUseException] thrownBy delete(enforce)).awsErrorDetails.errorMessage should include(
        "EnforceConsumerDeletion"
      )
    clock.advance(Duration.ofSeconds(4))
    describe(stream, "reader").consumerStatus shouldBe ConsumerStatus.ACTIVE
    delete(Some(true))
    a[ResourceNotFoundException] should be thrownBy register(stream, "other")
  }

  it("ListStreamConsumers returns consumers in pages and in order") {
    val stream = newStream(1)
    Seq("b", "c", "a").foreach(register(stream, _))
    val names = scala.collection.mutable.Buffer.empty[String]
    await(
      kinesis
        .listStreamConsumersPaginator { (b: ListStreamConsumersRequest.Builder) =>
          b.streamARN(arnOf(stream)).maxResults(2); ()
        }
        .subscribe { page => names ++= page.consumers.asScala.map(_.consumerName); () }
    )
    names shouldBe Seq("a", "b", "c")
  }

  it("ListStreamConsumers refuses a token that is expired, another stream's or none") {
    val Seq(stream, other)                         = Seq.fill(2)(newStream(1)): @unchecked
    def page(stream: String, token: String = null) = await(
      kinesis.listStreamConsumers { (b: ListStreamConsumersRequest.Builder) =>
        b.streamARN(arnOf(stream)).maxResults(1).nextToken(token); ()
      }
    )
    Seq("a", "b").foreach(register(stream, _))
    val token = page(stream).nextToken
    page(stream, token).consumers.asScala.map(_.consumerName) shouldBe Seq("b")
    an[InvalidArgumentException] should be thrownBy page(other, token)
    an[InvalidArgumentException] should be thrownBy page(stream, "made-up")
    clock.advance(Duration.ofSeconds(301))
    an[ExpiredNextTokenException] should be thrownBy page(stream, token)
  }

  describe("A listing of consumers that lags") {
    lazy val lagging = KinesisServer.start(
      KinesisServerConfig(
        clock = clock,
        consumerDelays =
          ConsumerDelays(create = 4.seconds, delete = 2.seconds, shown = 1.second, forgotten = 3.seconds),
        control = ControlPlane(consumersPerStream = 3)
      )
    )
    lazy val kinesis = closing(client(closing(lagging).endpoint))

    def newStream(name: String): String       = { lagging.streams.createStream(name, 1); arnOf(name) }
    def describe(arn: String): ConsumerStatus =
      await(
        kinesis.describeStreamConsumer { (b: DescribeStreamConsumerRequest.Builder) => b.consumerARN(arn); () }
      ).consumerDescription.consumerStatus
    def listed(arn: String): Vector[(String, ConsumerStatus)] =
      await(
        kinesis.listStreamConsumers { (b: ListStreamConsumersRequest.Builder) => b.streamARN(arn); () }
      ).consumers.asScala
        .map(c => c.consumerARN -> c.consumerStatus)
        .toVector

    it("does not show a new consumer at first, then as CREATING, then as ACTIVE") {
      val stream   = newStream("new")
      val consumer = kinesis.register(stream)
      a[ResourceNotFoundException] should be thrownBy describe(consumer)
      listed(stream) shouldBe empty
      a[ResourceInUseException] should be thrownBy kinesis.register(stream)
      clock.advance(Duration.ofSeconds(1))
      describe(consumer) shouldBe ConsumerStatus.CREATING
      listed(stream) shouldBe Vector(consumer -> ConsumerStatus.CREATING)
      clock.advance(Duration.ofSeconds(3))
      describe(consumer) shouldBe ConsumerStatus.ACTIVE
    }

    it("shows a deregistered consumer as DELETING for a while after it is gone, also beside its successor") {
      val stream   = newStream("old")
      val consumer = kinesis.register(stream)
      clock.advance(Duration.ofSeconds(4))
      kinesis.deregister(consumer)
      describe(consumer) shouldBe ConsumerStatus.DELETING
      clock.advance(Duration.ofSeconds(2))
      a[ResourceNotFoundException] should be thrownBy describe(consumer)
      listed(stream) shouldBe Vector(consumer -> ConsumerStatus.DELETING)
      val next = kinesis.register(stream)
      clock.advance(Duration.ofSeconds(1))
      listed(stream) shouldBe Vector(consumer -> ConsumerStatus.DELETING, next -> ConsumerStatus.CREATING)
      clock.advance(Duration.ofSeconds(2))
      listed(stream) shouldBe Vector(next -> ConsumerStatus.CREATING)
    }

    it("has as many consumers as the account's limit allows") {
      val stream = newStream("full")
      (1 to 3).foreach(i => kinesis.register(stream, s"c-$i"))
      (the[LimitExceededException] thrownBy kinesis.register(stream, "c-4")).getMessage should include(
        "limit of 3 consumers"
      )
    }
  }
}
