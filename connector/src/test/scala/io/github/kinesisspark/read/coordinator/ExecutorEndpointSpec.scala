package io.github.kinesisspark.read.coordinator

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.MINUTES

import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

import org.apache.spark.kinesisspark.RpcChannel
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.ContextClassLoader
import io.github.kinesisspark.Generators.{shard, stream}
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.jar.WireFormat
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.plan.BoundarySpacing
import io.github.kinesisspark.read.reader._

class ExecutorEndpointSpec extends AnyFunSpec with Matchers {
  describe("an executor's end of the channel") {
    it("opens the clients of each session with the classes that the session's tasks find") {
      val found   = new LinkedBlockingQueue[ClassLoader]
      val clients = new KinesisClients((_, success) => {
        found.add(Thread.currentThread.getContextClassLoader)
        new KinesisClients.SharedClient(new StubKinesis, success, () => ())
      })
      val network  = new Network
      val pools    = new ShardReaderPools(() => "1", clients)
      val executor = new ExecutorEndpoint(() => "1", pools, network)
      for (session <- Seq("a", "b")) {
        val classes = new ClassLoader(getClass.getClassLoader) {}
        ContextClassLoader.within(classes)(executor.open("driver", session)) shouldBe None
        network.last.asked(session, WireFormat.write(order(session)), _ => ())
        found.poll(1, MINUTES) shouldBe theSameInstanceAs(classes)
        pools.close(session)
      }
    }

    it("is opened once for a session, and anew for another driver") {
      val network  = new Network
      val clients  = new KinesisClients((_, _) => fail("no client is needed"))
      val executor = new ExecutorEndpoint(() => "1", new ShardReaderPools(() => "1", clients), network)
      for ((driver, session) <- Seq("driver" -> "a", "driver" -> "b", "driver" -> "a", "other" -> "a"))
        executor.open(driver, session) shouldBe None
      network.opened shouldBe 3
    }
  }

  /** Each source has a region of its own, so that it has its own client. */
  private def order(source: String) = {
    val access = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), s"region-$source")
    val config = ReaderConfig(source, Map(stream -> access), 1 << 20, PollingOptions.Default, failOnDataLoss = true)
    ReadOrder(
      source,
      number = 1,
      Some(ReadOrder.ReadSettings(config, ResolvedPublisher.Polling)),
      commit = false,
      Vector(ReadOrder.ShardToRead(shard(0), TrimHorizon, stop = None, isClosed = false)),
      Vector.empty,
      Vector.empty,
      driverNanos = 0,
      Liveness.Heartbeats,
      BoundarySpacing.none,
      pauseMillis = 5,
      hasRead = false
    )
  }

  private final class Network extends RpcChannel.Network {
    var opened                   = 0
    var last: RpcChannel.Handler = new RpcChannel.Handler {}

    override def open(name: String, handler: RpcChannel.Handler): RpcChannel.Peer = {
      opened += 1
      last = handler
      Nobody
    }

    override def ofDriver(name: String): RpcChannel.Peer = Nobody
  }

  private object Nobody extends RpcChannel.Peer {
    override def ask(source: String, request: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      Future.successful(Reply.ofReport(isUsed = true))
    override def beat(heartbeat: Array[Byte], within: FiniteDuration): Future[Array[Byte]] =
      Future.successful(heartbeat)
    override def introduce(executor: String, session: String, self: RpcChannel.Peer): Unit = ()
  }
}
