package io.github.kinesisspark.it.conformance

import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import org.scalatest.{Assertion, BeforeAndAfterAll}
import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import software.amazon.awssdk.services.kinesis.model.{KinesisException, ResourceNotFoundException, StreamStatus}

import io.github.kinesisspark.it._

/** Base of all conformance scenarios. A scenario states a behaviour of the service, and what a server with a known
  * difference does instead.
  *
  * A server that has a named difference must show it: its own expectation replaces the service's, and the report carries
  * the difference's id. So the table can't claim what isn't there, and a server that mends its ways fails a test.
  */
abstract class Conformance(val target: KinesisTarget)
    extends AnyFunSpec
    with Matchers
    with Eventually
    with BeforeAndAfterAll {

  implicit override def patienceConfig: PatienceConfig =
    PatienceConfig(service.patience.atMost, service.patience.every)

  private val shown      = mutable.Set.empty[Difference]
  private val asService  = new AtomicInteger
  private val departures = mutable.LinkedHashMap.empty[Difference, Int]

  protected def service: KinesisService = target.service

  /** For what the service shows for a moment only: it is tried again where the machine stood still for that long. */
  protected def whileItLasts[A](body: => A): A = eventually(body)

  implicit final protected class DifferenceOps(difference: Difference) {

    /** What the server does in place of the promise, asserted. */
    def instead(actual: => Any): Departure = Departure(difference, () => actual)

    /** For what a server does only now and then: there is nothing to assert, so the report counts it as canceled. */
    def sometimes: Departure =
      Departure(
        difference,
        () => cancel(s"$target only sometimes keeps this promise (${difference.id}): ${difference.what}")
      )
  }

  /** One scenario. The name is a sentence about the server; `body` asserts it. */
  protected def promise(sentence: String, departures: Departure*)(body: => Any): Unit =
    departures.find(d => target.differences.has(d.difference)) match {
      case None =>
        it(sentence) {
          body
          asService.incrementAndGet()
        }
      case Some(Departure(difference, instead)) =>
        shown += difference
        it(s"$sentence [otherwise on $target: ${difference.id}]") {
          this.departures.updateWith(difference)(n => Some(n.getOrElse(0) + 1))
          instead()
        }
    }

  /** A scenario that takes minutes or days of the server's time, and so a server whose clock can be moved. */
  protected def promiseOnClock(sentence: String)(body: ClockedService => Any): Unit = it(sentence) {
    body(target.clocked.getOrElse(cancel(s"$target's clock cannot be moved, and nobody waits that long")))
    asService.incrementAndGet()
  }

  /** Registered last: a difference that no scenario shows is hearsay. */
  protected def everyDifferenceIsShown(): Unit = {
    val known = shown.toSet
    it("each difference listed for the server is shown by a scenario") {
      (target.differences.all -- known).map(_.id) shouldBe empty
    }
  }

  override protected def afterAll(): Unit = {
    super.afterAll()
    val others = departures.map { case (d, n) => s"  $n x ${d.id}: ${d.what}" }
    println(
      (s"$target: ${asService.get} scenarios as the service, ${departures.values.sum} otherwise" +: others.toSeq)
        .mkString("\n")
    )
  }

  /** A stream of its own for one scenario, ACTIVE, and deleted afterwards. */
  protected def withStream[A](shards: Int)(body: TestStream => A): A = withStreamOn(service, shards)(body)

  protected def withStreamOn[A](service: KinesisService, shards: Int)(body: TestStream => A): A = {
    val stream = new TestStream(service, Conformance.freshName())
    service.call(_.createStream(r => r.streamName(stream.name).shardCount(shards)))
    try {
      awaitActive(stream)
      body(stream)
    } finally delete(stream)
  }

  /** Only ACTIVE streams can be deleted, and a scenario may leave its own UPDATING. */
  protected def delete(stream: TestStream): Unit = {
    awaitActive(stream)
    stream.service.call(_.deleteStream(r => r.streamName(stream.name).enforceConsumerDeletion(true)))
    ()
  }

  protected def awaitActive(stream: TestStream): Assertion = eventually(stream.status() shouldBe StreamStatus.ACTIVE)

  protected def awaitGone(stream: TestStream): Assertion = eventually {
    an[ResourceNotFoundException] should be thrownBy stream.summary()
  }

  /** The error code of a refusal. The SDK has no class for some of them. */
  protected def refusal(call: => Any): String = intercept[KinesisException](call).awsErrorDetails.errorCode

  /** A server that fails on bad input in place of refusing it. */
  protected def crash(call: => Any): Assertion = intercept[KinesisException](call).statusCode should be >= 500

  /** Constraints of the API's model are reported as ValidationException, rules of the service as
    * InvalidArgumentException; the documentation does not always say which is which, and no client should care.
    */
  protected def refusedArgument(call: => Any): Assertion =
    refusal(call) should (be("InvalidArgumentException") or be("ValidationException"))

}

/** The assertion that replaces a scenario's own on a server with this difference. */
final case class Departure(difference: Difference, instead: () => Any)

object Conformance {
  def freshName(): String = TestRun.freshName("conformance")
}
