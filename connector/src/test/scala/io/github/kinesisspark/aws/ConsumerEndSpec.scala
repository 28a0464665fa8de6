package io.github.kinesisspark.aws

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.config.{ConsumerChoice, Deregistration, RegistrationTime}
import io.github.kinesisspark.position.ConsumerArn

class ConsumerEndSpec extends AnyFunSpec with Matchers {
  import ConsumerEnd._
  import ConsumerOwner._
  import Deregistration._

  private val own = Query("7a2f9c52-6d0b-4d3e-9a57-3f1f5f0c6c11")

  private def end(
      deregistration: Deregistration,
      isRegisteredHere: Boolean = false,
      when: RegistrationTime = RegistrationTime.Lazy,
      query: Option[Query] = Some(own),
      hasRival: Boolean = false
  ): ConsumerEnd =
    ConsumerEnd.of(ConsumerChoice.Registered("app", when, deregistration), isRegisteredHere, query, hasRival)

  describe("a consumer at the end of its query") {
    it("is deregistered if the query registered it, or is to deregister all") {
      end(OfRegistered, isRegisteredHere = true) shouldBe Deregister
      end(OfAll) shouldBe Deregister
      end(OfAll, isRegisteredHere = true) shouldBe Deregister
    }

    it("is deregistered if it was found and has the query's tag") {
      end(OfRegistered) shouldBe DeregisterIfOf(Set(own))
    }

    it("is deregistered if it was found and load() registered it, with registration eager only") {
      end(OfRegistered, when = RegistrationTime.Eager) shouldBe DeregisterIfOf(Set(own, Unstarted))
    }

    it("is kept if another reader has taken a consumer of the query, unless this run registered it") {
      for {
        deregistration <- Seq(OfRegistered, OfAll)
        when           <- Seq(RegistrationTime.Lazy, RegistrationTime.Eager)
      } {
        end(deregistration, when = when, hasRival = true) shouldBe Keep
        end(deregistration, isRegisteredHere = true, when, hasRival = true) shouldBe Deregister
      }
    }

    it("is kept if it was given by ARN, was found by a batch read, or if the query is to deregister none") {
      val byArn =
        ConsumerChoice.Given(ConsumerArn("arn:aws:kinesis:eu-west-1:000000000000:stream/orders/consumer/app:1"))
      for (isRegisteredHere <- Seq(true, false)) {
        ConsumerEnd.of(byArn, isRegisteredHere, Some(own), hasRival = false) shouldBe Keep
        end(OfNone, isRegisteredHere) shouldBe Keep
      }
      end(OfRegistered, query = None) shouldBe Keep
    }
  }

  it("an owner is read back from its tag") {
    for (owner <- Seq(own, Unstarted)) ConsumerOwner.of(owner.tag) shouldBe owner
  }
}
