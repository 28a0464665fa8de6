package io.github.kinesisspark.testkit.subscription

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class SeatSpec extends AnyFunSpec with Matchers {
  import Seat.Refusal._

  /** What becomes of calls at these times, with five seconds until a takeover. */
  private def asked(seat: Seat, limited: Boolean)(times: Long*): Seq[Option[Seat.Refusal]] =
    times
      .scanLeft((seat, Option.empty[Seat.Refusal])) { case ((s, _), now) => s.ask(now, limited, 5000) }
      .tail
      .map(_._2)

  it("a subscription's place is given once in five seconds, counted from the last successful call") {
    asked(Seat.free(0), limited = false)(0, 4999, 5000, 9999, 10000) shouldBe
      Seq(None, Some(InUse), None, Some(InUse), None)
  }

  it("a subscription's place takes one call per second if limits are enforced, refused calls included") {
    asked(Seat.free(0), limited = true)(0, 999, 1000, 1500, 2000) shouldBe
      Seq(None, Some(TooOften), Some(InUse), Some(TooOften), Some(InUse))
  }

  it("a subscription's place is given to no caller while it is held") {
    asked(Seat.free(0).held(30000), limited = false)(0, 29999, 30000) shouldBe Seq(Some(InUse), Some(InUse), None)
  }

  it("a subscription's place counts bytes across subscribers") {
    val spent = Seat.free(0).charged(3 * 1024 * 1024, 0)
    spent.bytes.freeFrom(0) shouldBe 1500
    spent.ask(5000, limited = true, 5000)._1.bytes shouldBe spent.bytes
  }
}
