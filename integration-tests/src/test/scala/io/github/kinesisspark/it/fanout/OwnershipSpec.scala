package io.github.kinesisspark.it.fanout

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.aws.FanOutConsumers
import io.github.kinesisspark.config.FanOutOptions.OwnerTag
import io.github.kinesisspark.position.StreamArn

/** Tests which consumers the clean end of a query deregisters after earlier runs, of this query and of others, were killed. A run that is
  * killed closes its clients without a release, and its JVM's claims are gone.
  */
final class OwnershipSpec extends AnyFunSpec with Matchers with CapturedLogs {

  private val app   = "efo.consumerName" -> "app"
  private val eager = "efo.registration" -> "eager"
  private val other = "00000000-0000-0000-0000-000000000001"

  private def in[A](world: ConsumerWorld)(body: ConsumerWorld => A): A =
    try body(world)
    finally world.close()

  /** A run in a JVM of its own. */
  private def run(
      world: ConsumerWorld,
      stream: StreamArn,
      query: String = ConsumerWorld.Query,
      more: Seq[(String, String)] = Nil
  )(
      body: FanOutConsumers => Unit
  ): Unit = {
    val consumers = world.open(world.options(stream)((app +: more)*), query, world.newClients())
    try body(consumers)
    finally consumers.close()
  }

  private val killed: FanOutConsumers => Unit        = _.resolve(): Unit
  private val clean: FanOutConsumers => Unit         = consumers => { consumers.resolve(); consumers.release() }
  private val stoppedAtOnce: FanOutConsumers => Unit = _.release()
  private def statuses(world: ConsumerWorld, stream: StreamArn) = world.others(stream).list().values.toSeq

  describe("a consumer of a killed run") {
    it("is deregistered at the next clean end of a run of its query, even if that run never planned") {
      for (next <- Seq(clean, stoppedAtOnce)) in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        run(world, stream)(killed)
        statuses(world, stream) shouldBe Seq("ACTIVE")
        run(world, stream)(next)
        statuses(world, stream) shouldBe Seq("DELETING")
        world.calls("RegisterStreamConsumer") shouldBe 1
      }
    }

    it("is kept by another query") {
      for (next <- Seq(clean, stoppedAtOnce)) in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        run(world, stream, other)(killed)
        run(world, stream)(next)
        statuses(world, stream) shouldBe Seq("ACTIVE")
      }
    }

    it("is kept by a query with deregisterOnStop=false, and is not tagged by it") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        val kept   = Seq("efo.deregisterOnStop" -> "false")
        run(world, stream, more = kept)(killed)
        run(world, stream, more = kept)(clean)
        world.calls("ListTagsForResource") shouldBe 0
        run(world, stream)(clean)
        statuses(world, stream) shouldBe Seq("ACTIVE")
      }
    }
  }

  describe("a consumer that load() registered") {
    it("belongs to the query that first reads through it, which the next query respects") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        world.begin(world.options(stream)(app, eager), world.newClients())
        world.others(stream).owner("app") shouldBe Some("unstarted")
        run(world, stream, other, Seq(eager))(killed)
        world.others(stream).owner("app") shouldBe Some(other)
        run(world, stream, more = Seq(eager))(clean)
        statuses(world, stream) shouldBe Seq("ACTIVE")
        run(world, stream, other)(clean)
        statuses(world, stream) shouldBe Seq("DELETING")
      }
    }

    it("is deregistered at the end of a query that never planned, and kept by a lazy one") {
      in(new ConsumerWorld) { world =>
        val stream = world.newStream()
        world.begin(world.options(stream)(app, eager), world.newClients())
        run(world, stream)(stoppedAtOnce)
        statuses(world, stream) shouldBe Seq("CREATING")
        run(world, stream, more = Seq(eager))(stoppedAtOnce)
        statuses(world, stream) shouldBe Seq("DELETING")
      }
    }
  }

  describe("without kinesis:TagResource") {
    it("a consumer is registered without the tag, with a warning, and deregistered by its own run alone") {
      in(new ConsumerWorld(denied = Seq("kinesis:TagResource"))) { world =>
        val stream      = world.newStream()
        val (_, logged) = withLogs(run(world, stream)(killed))
        logged should include("WARN")
        for (word <- Seq(stream.text, OwnerTag, "kinesis:TagResource is denied")) logged should include(word)
        run(world, stream)(clean)
        statuses(world, stream) shouldBe Seq("ACTIVE")
        world.others(stream).deregister("app")
        run(world, stream)(clean)
        statuses(world, stream) shouldBe Seq("DELETING")
      }
    }
  }

  describe("without kinesis:ListTagsForResource") {
    it("a consumer that was found is kept, with a warning") {
      in(new ConsumerWorld(denied = Seq("kinesis:ListTagsForResource"))) { world =>
        val stream = world.newStream()
        run(world, stream)(killed)
        val (_, logged) = withLogs(run(world, stream)(clean))
        for (word <- Seq("WARN", stream.text, "kinesis:ListTagsForResource", "charged for")) logged should include(word)
        statuses(world, stream) shouldBe Seq("ACTIVE")
      }
    }
  }
}
