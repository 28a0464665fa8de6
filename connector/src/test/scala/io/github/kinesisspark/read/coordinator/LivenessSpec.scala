package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators.shardId
import io.github.kinesisspark.read.reader.{MemoryStream, ResolvedPublisher}
import io.github.kinesisspark.runtime.FastRuntime

/** Drivers and executors that stand still or don't reach each other, in one JVM and in time that passes 20 times faster: a minute takes three seconds where
  * the machine is free.
  */
class LivenessSpec extends AnyFunSpec with Matchers with EventuallyInAMinute {
  import LivenessSpec._

  for ((name, publisher) <- Seq("polling" -> ResolvedPublisher.Polling, "fan-out" -> MemoryCluster.Consumer)) {
    describe(s"an idle query by $name") {
      for (who <- Seq("driver", "only executor"))
        it(s"reads on after its $who has stood still for longer than the readers' lease") {
          scene { world =>
            val cluster = world.cluster(publisher, executors = 1)
            cluster.catchUp()
            val still = if (who == "driver") cluster.process else cluster.own.head.process
            still.pause()
            if (who == "driver") eventually(cluster.own.head.holds shouldBe false)
            else world.pass(100.seconds)
            still.resume()
            world.put(0)
            cluster.readUntil(Begin.size + 1) shouldBe world.service.texts.sorted
          }
        }
    }

    describe(s"a query in a batch, by $name") {
      for (who <- Seq("driver", "only executor"))
        it(s"reads on before the batch ends after its $who has stood still for longer than the readers' lease") {
          scene { world =>
            val cluster = world.cluster(publisher, executors = 1)
            cluster.catchUp()
            val still = if (who == "driver") cluster.process else cluster.own.head.process
            world.put(0)
            cluster.batch(meanwhile = {
              still.pause()
              if (who == "driver") eventually(cluster.own.head.holds shouldBe false)
              else world.pass(100.seconds)
              still.resume()
              eventually((0 until Shards).forall(cluster.own.head.reads) shouldBe true)
            })
            world.put(1)
            cluster.readUntil(Begin.size + 2) shouldBe world.service.texts.sorted
          }
        }
    }

    describe(s"an executor that is lost within a batch, by $name") {

      /** Who is lost never takes a shard back. */
      def haveOneReader(world: World, kept: MemoryCluster#Executor) =
        if (name == "fan-out") (0 until Shards).foreach { n =>
          val taken = world.service.subscribed.filter(_._2 == shardId(n)).map(_._1)
          (taken.last, taken.count(_ == kept.place)) shouldBe ((kept.place, 1))
        }

      def awaitReaders(world: World, by: MemoryCluster#Executor) = eventually {
        (0 until Shards).forall(by.reads) shouldBe true
        haveOneReader(world, by)
      }

      it("loses its shards to another before the batch ends") {
        scene { world =>
          val cluster = world.cluster(publisher, executors = 2)
          cluster.catchUp()
          val lost = cluster.home(0).get
          val kept = cluster.own.find(_ != lost).get
          world.put(0)
          cluster.batch(meanwhile = {
            cluster.isolate(lost)
            awaitReaders(world, kept)
          })
          world.put(0)
          cluster.readUntil(world.service.texts.size) shouldBe world.service.texts.sorted
          eventually(lost.holds shouldBe false)
          haveOneReader(world, kept)
        }
      }

      it("loses its shards, if it was the only one, to the executor that comes in its place, before the batch ends") {
        scene { world =>
          val cluster = world.cluster(publisher, executors = 2)
          val lost    = cluster.own.head
          val kept    = cluster.own.last
          cluster.present = Vector(lost)
          cluster.catchUp()
          world.put(0)
          cluster.batch(meanwhile = {
            cluster.isolate(lost)
            cluster.present = Vector(kept)
            awaitReaders(world, kept)
          })
          world.put(1)
          cluster.readUntil(world.service.texts.size) shouldBe world.service.texts.sorted
          eventually(lost.holds shouldBe false)
          haveOneReader(world, kept)
        }
      }
    }

    describe(s"an executor that its driver doesn't reach, by $name") {
      it("loses its shards to another, which reads on") {
        scene { world =>
          val cluster = world.cluster(publisher, executors = 2)
          cluster.catchUp()
          val lost = cluster.home(0).get
          cluster.isolate(lost)
          val end = world.now + 100.seconds
          while (world.now < end) {
            world.put(0)
            cluster.readUntil(world.service.texts.size) shouldBe world.service.texts.sorted
          }
          cluster.home(0).get should not be lost
          eventually(lost.holds shouldBe false)
        }
      }
    }
  }

  for (
    (what, answer) <- Seq[(String, MemoryNetwork.Reply => Unit)](
      "where an Error is thrown by each order" -> (reply => reply(Reply.of(throw new OutOfMemoryError("as planned")))),
      "that answers heartbeats and no order"   -> (_ => ())
    )
  )
    describe(s"an executor $what") {
      it("loses its shards to another, and its readers, though it releases none") {
        scene { world =>
          val cluster = world.cluster(MemoryCluster.Consumer, executors = 2)
          cluster.catchUp()
          val lost = cluster.home(0).get
          world.network.break(lost.place)(answer)
          val end = 60.seconds.fromNow
          while (cluster.home(0).contains(lost) && end.hasTimeLeft()) {
            world.put(0)
            cluster.batch()
          }
          cluster.home(0).get should not be lost
          cluster.readUntil(world.service.texts.size) shouldBe world.service.texts.sorted
          eventually(lost.holds shouldBe false)
          world.put(0)
          cluster.readUntil(world.service.texts.size) shouldBe world.service.texts.sorted
        }
      }
    }

  for ((name, publisher) <- Seq("polling" -> ResolvedPublisher.Polling, "fan-out" -> MemoryCluster.Consumer))
    describe(s"a reader that a failed attempt of a real-time task leaves on another executor, by $name") {
      it("never takes the shard back from the reader that an order names, and is closed after a minute") {
        scene { world =>
          val cluster = world.cluster(publisher, executors = 2)
          cluster.catchUp()
          val home   = cluster.home(0).get
          val other  = cluster.own.find(_ != home).get
          def taken  = world.service.subscribed.filter(_._2 == shardId(0)).map(_._1)
          val before = taken
          cluster.beginAndFail(shard = 0, on = other)
          other.reads(0) shouldBe true
          if (name == "fan-out") eventually(taken shouldBe before ++ Seq(other.place, home.place))
          eventually(other.reads(0) shouldBe false)
          if (name == "fan-out") taken shouldBe before ++ Seq(other.place, home.place)
          (home.reads(0), other.reads(1)) shouldBe ((true, true))
          world.put(0)
          cluster.readUntil(world.service.texts.size) shouldBe world.service.texts.sorted
        }
      }
    }

  describe("a subscription of an executor that its driver doesn't reach") {
    it("is not opened again once another executor's has taken its place, and that one's is opened once") {
      scene { world =>
        val cluster = world.cluster(MemoryCluster.Consumer, executors = 2)
        cluster.catchUp()
        val lost = cluster.home(0).get
        val kept = cluster.own.find(_ != lost).get
        cluster.isolate(lost)
        while (cluster.home(0).contains(lost)) cluster.batch()
        def taken = world.service.subscribed.filter(_._2 == shardId(0)).map(_._1)
        eventually(taken.last shouldBe kept.place)
        val before = taken
        // As long as it has readers.
        eventually(lost.holds shouldBe false)
        taken shouldBe before
        taken.count(_ == kept.place) shouldBe 1
      }
    }
  }
}

object LivenessSpec {
  private val Speed  = 20
  private val Shards = 2
  private val Begun  = (0 until Shards).map(n => shardId(n) -> Vector.tabulate(3)(i => s"$n-$i")).toMap
  private val Begin  = Begun.values.flatten.toVector.sorted

  private final class World {
    private val time = new FastRuntime(Speed)
    import time.runtime
    val network          = new MemoryNetwork
    val service          = new MemoryStream(Begun)
    private var clusters = Vector.empty[MemoryCluster]
    private var puts     = 0

    def cluster(by: ResolvedPublisher, executors: Int): MemoryCluster = {
      val made = new MemoryCluster(s"driver-${clusters.size}", network, service, Shards, executors, Speed, by)
      clusters :+= made
      made
    }

    def put(shard: Int): Unit = {
      puts += 1
      service.put(shardId(shard), s"later-$puts")
    }

    /** By the clock of the service. */
    def now: FiniteDuration = runtime.clock.nanos().nanos

    def pass(span: FiniteDuration): Unit = runtime.waits.sleep(span)

    def close(): Unit = {
      network.heal()
      clusters.foreach(_.close())
      network.close()
      service.close()
    }
  }

  private def scene(body: World => Unit): Unit = {
    val world = new World
    try body(world)
    finally world.close()
  }
}
