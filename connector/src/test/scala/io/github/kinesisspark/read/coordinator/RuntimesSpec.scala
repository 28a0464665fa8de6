package io.github.kinesisspark.read.coordinator

import java.util.concurrent.atomic.AtomicInteger

import scala.collection.concurrent.TrieMap
import scala.concurrent.{Future, Promise}
import scala.concurrent.duration._
import scala.util.Try

import org.apache.spark.kinesisspark.RpcChannel
import org.apache.spark.kinesisspark.RpcChannel.{Handler, Peer}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.{shardId, stream}
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions}
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.position.{HashKeyRange, KinesisOffset, Shard}
import io.github.kinesisspark.read.plan.{Admission, ExecutorId, Lineage, PlanningState, WatermarkAlignment}
import io.github.kinesisspark.read.reader._
import io.github.kinesisspark.read.stream.ConsumerLifecycle
import io.github.kinesisspark.read.{KinesisInputPartition, KinesisPartitionReaderFactory}

/** Executors and drivers of several clusters in one JVM: the engine's own classes, with a network and a service in memory. */
class RuntimesSpec extends AnyFunSpec with Matchers {
  import RuntimesSpec._

  describe("two drivers, of which one has two executors and the other one") {
    it("read the same stream in one JVM, each with readers, clients and reports of its own") {
      val network = new MemoryNetwork
      val one     = new Application(network, 2)
      val other   = new Application(network, 1)
      try {
        one.readAll() shouldBe All
        other.readAll() shouldBe All
        one.reporting shouldBe Set("1", "2")
        other.reporting shouldBe Set("1")
        (one.own ++ other.own).map(_.made.get) shouldBe Vector(1, 1, 1)
        // Readers that one driver releases are none of the other's.
        one.close()
        (one.own.map(_.holds(one)), other.own.map(_.holds(other))) shouldBe ((Vector(false, false), Vector(true)))
      } finally {
        one.close()
        other.close()
        network.close()
      }
    }
  }
}

object RuntimesSpec {
  private val Shards  = 6
  private val Records = (0 until Shards).map(n => shardId(n) -> Vector.tabulate(300)(i => s"$n-$i")).toMap
  private val All     = Records.values.flatten.toVector.sorted

  private val Access = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1")

  /** An executor with its own clients. */
  private final class Executor(id: String, network: MemoryNetwork) {
    val made            = new AtomicInteger
    private val clients = new KinesisClients((_, success) => {
      made.incrementAndGet()
      new KinesisClients.Held(new MemoryKinesis(Records), success, () => ())
    })
    val engine = new ExecutorRuntime(() => id, clients, network)

    /** Whether the source still has readers here: an order that follows none before says so. */
    def holds(application: Application): Boolean = engine.pools.answer(application.emptyOrder(id)).isDefined
  }

  /** A driver with one query, and its executors. */
  private final class Application(network: MemoryNetwork, size: Int) extends Cluster {
    val source = runtime.ids.uuid()

    val own: Vector[Executor] = Vector.tabulate(size)(i => new Executor((i + 1).toString, network))

    private val ids    = Vector.tabulate(size)(i => ExecutorId("host", (i + 1).toString))
    private val byId   = ids.map(_.id).zip(own).toMap
    private val config =
      ReaderConfig(source, Map(stream -> Access), 16L << 20, callsPerSecond = 5, failOnDataLoss = true)
    private val clients = new KinesisClients((_, _) => throw new IllegalStateException("the driver calls nothing here"))
    private val driver  = new DriverRuntime(clients, network, throw new IllegalStateException("not in local mode"))
    private val readers = new ShardCoordinator(
      new ClusterChannel(this, source, driver),
      config,
      ConsumerLifecycle.Polling,
      WatermarkAlignment.off,
      _ => Grain.none
    )
    private val tasks   = KinesisPartitionReaderFactory(config)
    private var isOpen  = true
    private val lineage =
      Lineage((0 until Shards).map(n => Shard(shardId(n), Nil, HashKeyRange.all, closed = false)).toVector)

    /** The data of all records, batch by batch, as a query reads them. */
    def readAll(): Vector[String] = {
      var at   = KinesisOffset.initial
      var read = Vector.empty[String]
      var turn = 0L
      while (read.size < All.size) {
        turn += 1
        val planning = PlanningState(
          at,
          Map(stream -> PlanningState.Stream(1L, lineage, Vector.tabulate(Shards)(shardId(_) -> TrimHorizon)))
        )
        val tips = readers.awaitTips(planning, _ => false, Map.empty, patience = 10.seconds)
        val cuts = readers.admit(tips, Admission.Limits.none, turn, (_, _, _) => Map.empty)
        val end  = planning.end(cuts.transform((_, cut) => cut.position))
        readers.group(at.rangesTo(end), leastTasks = 1).foreach { group =>
          val on   = group.executor.fold(own.head)(e => byId(e.id))
          val rows = tasks.readerIn(on.engine, KinesisInputPartition(group, Map.empty))
          while (rows.next()) read :+= new String(rows.get().getBinary(0))
          rows.close()
        }
        at = end
      }
      read.sorted
    }

    def reporting: Set[String] = driver.reports.of(source).now.keySet

    def emptyOrder(executor: String): ReadOrder = ReadOrder(
      executor,
      source,
      number = Long.MaxValue,
      whole = None,
      commit = false,
      Vector.empty,
      Vector.empty,
      Vector.empty,
      runtime.clock.nanos(),
      leaseMillis = 60000,
      Grain.none,
      pauseMillis = 0,
      hasRead = true,
      isAsked = false
    )

    def close(): Unit = if (isOpen) {
      isOpen = false
      readers.close()
    }

    override def executors(): Vector[ExecutorHealth.ExecutorState] =
      ids.map(ExecutorHealth.ExecutorState(_, isExcluded = false, isLeaving = false, freeSlots = 1))
    override def idleTimeout: Option[FiniteDuration] = None
    override def slots: Int                          = ids.size
    override def session: String                     = ""
    override def isStopped: Boolean                  = false
    override def hasChannel: Boolean                 = true

    override def openEnds(name: String, session: String, on: Vector[ExecutorId])(
        opened: Either[String, Option[String]] => Unit
    ): Future[Unit] = network.run(on.foreach(e => opened(Right(byId(e.id).engine.endpoint.open(name, session)))))

    override def ask[A](requests: Vector[(ExecutorId, ReaderRequest[A])]): Vector[Try[Option[A]]] =
      throw new UnsupportedOperationException("the channel is open")
    override def release(requests: Vector[(ExecutorId, ReleaseRequest)]): Unit =
      throw new UnsupportedOperationException("the channel is open")
  }

  /** Ends by name. Messages arrive on threads of its own, those to one end in the order in which they were sent. */
  private final class MemoryNetwork extends RpcChannel.Network {
    private val ends    = TrieMap.empty[String, End]
    private val threads = runtime.workers.growing("memory-network")

    def run[A](work: => A): Future[A] = {
      val end = Promise[A]()
      threads.execute(() => end.complete(Try(work)): Unit)
      end.future
    }

    override def open(name: String, handler: Handler): Peer = {
      val end = new End(handler)
      ends(name) = end
      end
    }

    override def ofDriver(name: String): Peer = ends(name)

    def close(): Unit = ends.values.foreach(_.handler.stopped())

    private final class End(val handler: Handler) extends Peer {
      private val inbox = new Mailbox[() => Unit](threads, _ => ())(_())

      override def ask(source: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] = {
        val answer = Promise[Array[Byte]]()
        inbox.put(() => handler.asked(source, request, bytes => answer.trySuccess(bytes): Unit))
        answer.future
      }

      override def keepAlive(sources: Vector[String], driverNanos: Long, within: FiniteDuration): Future[Boolean] = {
        val answer = Promise[Boolean]()
        inbox.put { () =>
          handler.keptAlive(sources, driverNanos)
          answer.success(true): Unit
        }
        answer.future
      }

      override def introduce(executor: String, session: String, self: Peer): Unit = {
        val done = Promise[Boolean]()
        inbox.put { () =>
          handler.introduced(executor, session, self)
          done.success(true): Unit
        }
        runtime.waits.isDone(done.future, 1.minute): Unit
      }
    }
  }
}
