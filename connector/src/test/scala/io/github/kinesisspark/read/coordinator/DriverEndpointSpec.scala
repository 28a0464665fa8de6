package io.github.kinesisspark.read.coordinator

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, LinkedBlockingQueue, TimeUnit, TimeoutException}
import java.util.concurrent.atomic.LongAdder

import scala.concurrent.Future
import scala.concurrent.duration._
import scala.util.{Success, Try}

import org.apache.spark.SparkException
import org.apache.spark.kinesisspark.RpcChannel
import org.scalatest.concurrent.{Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators.shard
import io.github.kinesisspark.JvmRuntime._
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReadOrder, ReleaseRequest, ResolvedPublisher}

class DriverEndpointSpec extends AnyFunSpec with Matchers with TimeLimits with EventuallyInAMinute {
  private implicit val signaler: Signaler = ThreadSignaler

  private val executor =
    ExecutorHealth.ExecutorState(ExecutorId("host", "1"), isExcluded = false, isLeaving = false, freeSlots = 1)

  private abstract class OneExecutor extends Cluster {
    override def registered(): Vector[ExecutorHealth.ExecutorState] = Vector(executor)
    override def executors(): Vector[ExecutorHealth.ExecutorState]  = registered()
    override def idleTimeout: Option[FiniteDuration]                = None
    override def slots: Int                                         = 1
    override def session: String                                    = ""
    override def isStopped: Boolean                                 = false
  }

  /** Spark drops a job that comes after it has stopped, and the end of the job never comes. */
  private object StopsMeanwhile extends OneExecutor {
    @volatile private var hasStopped = false

    override def isStopped: Boolean = hasStopped

    override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
        opened: Either[String, Option[String]] => Unit
    ): Future[Unit] = {
      hasStopped = true
      Future.never
    }
  }

  private class Unreached extends RpcChannel.Peer {
    override def ask(source: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = Future.never
    override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]]              = Future.never
    override def introduce(executor: String, session: String, self: RpcChannel.Peer): Unit              = ()
  }

  /** An executor that has no end has a shard. */
  private def abandoned = {
    val shards = Vector(ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false))
    val known  = ReaderOrders.none.next(shards, ResolvedPublisher.Polling).get._1
    OrdersMeanwhile(
      Map(executor.id -> known),
      Set(executor.id),
      lastNumber = 1,
      ResolvedPublisher.Polling,
      Set.empty,
      isFollowed = false
    )
  }

  private object Nowhere extends RpcChannel.Network {
    override def open(name: String, handler: RpcChannel.Handler): RpcChannel.Peer = new Unreached
    override def ofDriver(name: String): RpcChannel.Peer                          = new Unreached
  }

  describe("The driver's end") {
    it("doesn't wait for a job of a context that has stopped") {
      val end = new DriverEndpoint(StopsMeanwhile, new OrdersBySource, _ => ())
      try failAfter(1.minute)(end.answering(Vector(executor), "") shouldBe empty)
      finally end.stopped()
    }

    it("calls an order failed that an Error keeps from being sent") {
      val end  = new DriverEndpoint(StopsMeanwhile, new OrdersBySource, _ => ())
      val done = new LinkedBlockingQueue[Try[Option[Boolean]]]
      end.introduced(
        executor.id.id,
        "",
        new Unreached {
          override def ask(source: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
            throw new NoClassDefFoundError("as planned")
        }
      )
      end.send(executor.id, ReleaseRequest("source"), session = "")(done.add(_): Unit)
      done.poll(1, TimeUnit.MINUTES) shouldBe Success(None)
      end.stopped()
    }

    it("forgets a session with its last source, and asks its executors no more") {
      val end = new DriverEndpoint(StopsMeanwhile, new OrdersBySource, _ => ())
      end.open(Nowhere)
      val beaten                                       = new ConcurrentHashMap[String, LongAdder]
      def begin(source: String, session: String): Unit = {
        end.keep(source, session)
        end.introduced(
          executor.id.id,
          session,
          new Unreached {
            override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = {
              beaten.computeIfAbsent(session, _ => new LongAdder).increment()
              Future.failed(new TimeoutException)
            }
          }
        )
      }
      def beats(session: String) = Option(beaten.get(session)).fold(0L)(_.sum)
      try {
        begin("source-1", "left")
        begin("source-2", "stays")
        begin("source-3", "stays")
        eventually(beats("left") should be > 0L)
        end.forget("source-1")
        end.forget("source-2")
        val before = (beats("left"), beats("stays"))
        eventually(beats("stays") should be > before._2 + 2)
        beats("left") should be <= before._1 + 1
      } finally end.stopped()
    }

    it("begins a job for each query while no executor is connected, whatever became of the jobs of others") {
      val jobs = new LongAdder
      val end  = new DriverEndpoint(
        new OneExecutor {
          override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
              opened: Either[String, Option[String]] => Unit
          ): Future[Unit] = {
            jobs.increment()
            Future.failed(new SparkException("cancelled"))
          }
        },
        new OrdersBySource,
        _ => ()
      )
      try
        for (query <- 1 to 4) {
          end.keep(s"source-$query", "")
          end.answering(Vector(executor), "") shouldBe empty
          jobs.sum shouldBe query
          end.forget(s"source-$query")
        }
      finally end.stopped()
    }

    it("forgets an executor that is gone: one that comes again is connected at once") {
      val jobs    = new LinkedBlockingQueue[Vector[ExecutorId]]
      val another = executor.copy(id = ExecutorId("host", "2"))
      val end     = new DriverEndpoint(
        new OneExecutor {
          override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
              opened: Either[String, Option[String]] => Unit
          ): Future[Unit] = {
            jobs.put(executors)
            Future.unit
          }
        },
        new OrdersBySource,
        _ => ()
      )
      try {
        val present = Seq(executor, another, executor)
        present.foreach(one => end.answering(Vector(one), "") shouldBe empty)
        Seq.fill(3)(jobs.poll()) shouldBe present.map(one => Vector(one.id))
      } finally end.stopped()
    }

    it("sends heartbeats while Spark doesn't answer which executors could read the shards of a lost one") {
      val asked  = new CountDownLatch(1)
      val answer = new CountDownLatch(1)
      val beats  = new LongAdder
      val silent = new OneExecutor {
        override def registered(): Vector[ExecutorHealth.ExecutorState] = {
          asked.countDown()
          answer.await()
          super.registered()
        }
        override def openEnds(driver: String, session: String, executors: Vector[ExecutorId])(
            opened: Either[String, Option[String]] => Unit
        ): Future[Unit] = Future.unit
      }
      val orders = new OrdersBySource
      orders.of("source").handOver(abandoned)(_ => ())
      val end = new DriverEndpoint(silent, orders, _ => ())
      end.open(Nowhere)
      end.keep("source", "")
      end.introduced(
        "2",
        "",
        new Unreached {
          override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = {
            beats.increment()
            Future.failed(new TimeoutException)
          }
        }
      )
      try {
        asked.await(1, TimeUnit.MINUTES) shouldBe true
        val before = beats.sum
        eventually(beats.sum should be > before + 1)
      } finally {
        answer.countDown()
        end.stopped()
      }
    }

    it("asks an executor again that could not be asked because of an Error") {
      val end   = new DriverEndpoint(StopsMeanwhile, new OrdersBySource, _ => ())
      val asked = new CountDownLatch(3)
      end.open(Nowhere)
      end.keep("source", "")
      end.introduced(
        executor.id.id,
        "",
        new Unreached {
          override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = {
            asked.countDown()
            throw new OutOfMemoryError("as planned")
          }
        }
      )
      try asked.await(1, TimeUnit.MINUTES) shouldBe true
      finally end.stopped()
    }
  }
}
