package io.github.kinesisspark.simulation

import scala.concurrent.duration._
import scala.util.Try

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.simulation.Kinesis.{Refusal, Settings, Start}

/** The model of the service, where it is awkward. */
class KinesisSpec extends AnyFunSpec with Matchers {

  private val baton = new Baton(1, new Trace)

  private def stream(shards: Int, settings: Settings) =
    new Kinesis(baton, World.Epoch, "events", shards, settings, new Kinesis.Faults)

  describe("a listing") {
    it("has pages of the size that is set, which show all shards once") {
      val its  = stream(5, Settings(pageSize = 2))
      val page = Iterator.iterate(its.listShards(None))(page => its.moreShards(page.token.get)).take(3).toVector
      page.map(_.items.map(_.shard)) shouldBe its.all.grouped(2).toVector
      page.last.token shouldBe empty
    }

    it("refuses a timestamp in the future") {
      val its = stream(1, Settings())
      a[Refusal.InvalidArgument] should be thrownBy its.listShards(Some(its.now + 1))
    }

    it("has a shard that was there as long ago as listings are old, though an iterator is refused") {
      val world = new Baton(1, new Trace)
      val its   =
        new Kinesis(world, World.Epoch, "events", 1, Settings(oldRecords = 5, oldMillis = 20000), new Kinesis.Faults)
      val parent   = its.all.head.id
      def isListed = Vector.fill(50)(its.listShards(None)).exists(_.items.exists(_.shard.id == parent))
      its.lag(30000)
      var during, after = (false, false)
      def look()        = (isListed, Try(its.iterator(parent, Start.TrimHorizon)).isSuccess)
      world.after(20.seconds.toNanos) { during = look() }
      world.after(50.seconds.toNanos) {
        after = look()
        world.stop()
      }
      world.run()
      during shouldBe (true -> false)
      after shouldBe (false -> false)
    }

    it("refuses calls beyond those that others leave of a quota") {
      val its = stream(1, Settings(callsPerSecond = 2))
      (1 to 2).foreach(_ => its.takeCall("ListShards"))
      a[Refusal.LimitExceeded] should be thrownBy its.takeCall("ListShards")
      noException should be thrownBy its.takeCall("DescribeStreamSummary")
    }
  }

  describe("an empty answer") {
    it("is behind and reads on, before records and on an idle shard") {
      val its      = stream(1, Settings(emptyAnswers = 1))
      val iterator = its.iterator(its.all.head.id, Start.TrimHorizon)
      val idle     = its.getRecords(iterator, 10)
      its.putInEach()
      val full = its.getRecords(iterator, 10)
      Seq(idle, full).foreach { answer =>
        answer.records shouldBe empty
        answer.behind should be > 0L
        answer.next.map(_.index) should contain(0)
      }
    }

    it("is behind on a shard that was read to the latest only once another record has come") {
      val its    = stream(1, Settings(emptyAnswers = 1))
      val first  = its.getRecords(its.iterator(its.all.head.id, Start.Latest), 10)
      val second = its.getRecords(first.next.get, 10)
      its.putInEach()
      val third = its.getRecords(second.next.get, 10)
      Seq(first, second, third).map(answer => (answer.records.size, answer.behind > 0)) shouldBe
        Seq((0, false), (0, false), (0, true))
    }
  }

  describe("a consumer") {
    it("can't be described at once") {
      val its = stream(1, Settings(unknownMillis = 100))
      a[Refusal.NotFound] should be thrownBy its.described(its.registerByCall("one", Map.empty))
    }

    it("is refused while five others are CREATING") {
      val its = stream(1, Settings(otherConsumers = 5))
      a[Refusal.LimitExceeded] should be thrownBy its.registerByCall("one", Map.empty)
    }
  }

  describe("a reshard") {
    it("changes the shards when UPDATING ends, and refuses another one meanwhile") {
      val world = new Baton(1, new Trace)
      val its   = new Kinesis(world, World.Epoch, "events", 1, Settings(updateMillis = 3000), new Kinesis.Faults)
      val first = its.all.head
      its.split(first)
      its.split(first)
      var during, after = (its.status, its.all.size)
      world.after(2.seconds.toNanos) { during = (its.status, its.all.size) }
      world.after(4.seconds.toNanos) {
        after = (its.status, its.all.size)
        world.stop()
      }
      world.run()
      during shouldBe ("UPDATING" -> 1)
      after shouldBe ("ACTIVE"    -> 3)
    }
  }
}
