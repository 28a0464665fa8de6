package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class NewsBellSpec extends AnyFunSpec with Matchers {
  private def waited(bell: NewsBell, seen: Long, atMost: FiniteDuration): FiniteDuration = {
    val began = System.nanoTime()
    bell.await(seen, atMost)
    (System.nanoTime() - began).nanos
  }

  describe("a wait for news") {
    it("ends at once when the bell rang after the last look") {
      val bell = new NewsBell
      val seen = bell.rung
      bell.ring()
      waited(bell, seen, 1.minute) should be < 30.seconds
    }

    it("ends when the bell of the source rings") {
      val bell = NewsBell.of("rings")
      val seen = bell.rung
      new Thread(() => NewsBell.ring("rings")).start()
      waited(bell, seen, 1.minute) should be < 30.seconds
      NewsBell.remove("rings")
    }

    it("ends after its time when nothing rings") {
      val bell = new NewsBell
      NewsBell.ring("another")
      waited(bell, bell.rung, 20.millis) should be >= 20.millis
    }
  }
}
