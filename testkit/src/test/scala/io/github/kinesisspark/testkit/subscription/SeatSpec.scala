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

  it("is given once in five seconds, counted from the last call that got it") {
    asked(Seat.free(0), limited = false)(0, 4999, 5000, 9999, 10000) shouldBe
      Seq(None, Some(InUse), None, Some(InUse), None)
  }

  it("takes one call a second where limits count, and a call that is refused as too soon is one") {
    asked(Seat.free(0), limited = true)(0, 999, 1000, 1500, 2000) shouldBe
      Seq(None, Some(TooOften), Some(InUse), Some(TooOften), Some(InUse))
  }

  it("is nobody's while it is held") {
    asked(Seat.free(0).held(30000), limited = false)(0, 29999, 30000) shouldBe Seq(Some(InUse), Some(InUse), None)
  }

  it("counts bytes over whoever has it") {
    val spent = Seat.free(0).charged(3 * 1024 * 1024, 0)
    spent.bytes.freeFrom(0) shouldBe 1500
    spent.ask(5000, limited = true, 5000)._1.bytes shouldBe spent.bytes
  }
}
