package io.github.kinesisspark.it.soak

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import scala.concurrent.duration._
import scala.util.Random

/** What the nemesis decides. */
final class PlanSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private def deeds(seed: Long, length: FiniteDuration) = Plan.of(seed, length).map(_.deed)

  it("is the same for the same seed, and another for another") {
    Plan.of(1, 5.minutes) shouldBe Plan.of(1, 5.minutes)
    Plan.of(1, 5.minutes) should not be Plan.of(2, 5.minutes)
  }

  it("goes on in order, and has every kind of trouble within the time, short as it is") {
    def troubles(deeds: Seq[Deed]) = deeds.collect { case Deed.Begin(trouble) => trouble.name }.toSet
    val kinds                      = troubles(Card.deck.flatMap(_.play(new Random(0))).map(_._2))
    forAll { (seed: Long) =>
      val plan = Plan.of(seed, 70.seconds)
      plan.map(_.at) shouldBe plan.map(_.at).sorted
      troubles(plan.filter(_.at < 70.seconds).map(_.deed)) shouldBe kinds
    }
  }

  it("ends what it begins, starts what it stops, and merges as much as it splits") {
    forAll { (seed: Long) =>
      val all = deeds(seed, 4.minutes)
      all.collect { case Deed.End(t) => t }.toSet shouldBe all.collect { case Deed.Begin(t) => t }.toSet
      all.count(_ == Deed.StartQuery) shouldBe all.count(_ == Deed.StopQuery)
      all.lastIndexOf(Deed.StartQuery) should be > all.lastIndexOf(Deed.StopQuery)
      all.count(_.isInstanceOf[Deed.Merge]) shouldBe all.count(_.isInstanceOf[Deed.Split])
    }
  }

  it("does more, not faster, when it is longer") {
    deeds(1, 20.minutes).size shouldBe 12 * deeds(1, 100.seconds).size
  }
}
