package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.util.concurrent.{CompletableFuture, LinkedBlockingQueue, TimeUnit}

import org.reactivestreams.{Subscriber, Subscription => Flow}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.{GetRecordsRequest, GetRecordsResponse}

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators.{shard, stream}
import io.github.kinesisspark.HeldMonitors
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.plan.BoundarySpacing
import io.github.kinesisspark.JvmRuntime.runtime

/** Which locks a thread holds while an order has it run code that isn't the engine's. */
class ForeignCodeSpec extends AnyFunSpec with Matchers with EventuallyInAMinute {
  private val Budget = 40L << 20

  /** A pool over a stub of the service, and the locks that were held when its client was made. */
  private final class Scene {
    val whenMade        = new LinkedBlockingQueue[Seq[String]]
    @volatile var calls = 0

    /** Its first answer has a record, and its second one never comes. */
    private val service = new StubKinesis {
      override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
        calls += 1
        if (calls == 1) super.getRecords(request) else new CompletableFuture
      }
    }

    private val clients = new KinesisClients((_, success) => {
      whenMade.add(HeldMonitors.here)
      new KinesisClients.SharedClient(service, success, () => ())
    })
    private val access = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1")
    private val config =
      ReaderConfig("source", Map(stream -> access), Budget, PollingOptions.Default, failOnDataLoss = true)
    private var number = 0L

    val shared = new ReadersShared(clients, runtime.workers.fixed("pool", 2))
    val pool   = new ShardReaderPool(config, () => "1", shared, _ => scala.concurrent.Future.successful(true))

    def order(read: Vector[ReadOrder.ShardToRead] = Vector.empty, isOfAllShards: Boolean = false): Unit = {
      number += 1
      pool.applyOrder(
        ReadOrder(
          config.sourceId,
          number,
          Option.when(isOfAllShards)(ReadOrder.ReadSettings(config, ResolvedPublisher.Polling)),
          commit = false,
          read,
          release = if (read.isEmpty) Vector(shard(0)) else Vector.empty,
          batchEnds = Vector.empty,
          driverNanos = runtime.clock.nanos(),
          Liveness.Heartbeats,
          BoundarySpacing.none,
          pauseMillis = 0,
          hasRead = false
        )
      ) should not be empty
    }

    def read(): Unit =
      order(
        Vector(ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false)),
        isOfAllShards = true
      )

    def close(): Unit = {
      pool.close()
      shared.worker.close()
    }
  }

  describe("an order of the driver") {
    it("makes the client of a new reader without the lock of the readers") {
      val scene = new Scene
      scene.read()
      // Whoever else wants the same client waits for it.
      scene.whenMade.poll(1, TimeUnit.MINUTES) shouldBe Seq("io.github.kinesisspark.aws.SharedPool$Entry")
      scene.close()
    }

    it("frees memory without its thread handing the bytes of another source's event to the SDK") {
      val scene  = new Scene
      val passed = new LinkedBlockingQueue[Seq[String]]
      scene.read()
      eventually(scene.calls shouldBe 2)
      // All memory but that of the reader.
      val others = scene.shared.memory.join(Budget)
      val rest   = others.account()
      rest.take(_ => Budget - scene.shared.memory.used)(_ => ())
      val gate = new EventMemoryGate(others.account())
      gate
        .through(
          SdkHttpResponse.builder.statusCode(200).build,
          (to: Subscriber[_ >: ByteBuffer]) =>
            to.onSubscribe(new Flow {
              override def request(n: Long): Unit = to.onNext(beginningOf(17))
              override def cancel(): Unit         = ()
            })
        )
        .subscribe(new Subscriber[ByteBuffer] {
          override def onSubscribe(flow: Flow): Unit   = flow.request(1)
          override def onNext(bytes: ByteBuffer): Unit = passed.add(HeldMonitors.here)
          override def onError(cause: Throwable): Unit = ()
          override def onComplete(): Unit              = ()
        })
      gate.isWaiting shouldBe true
      scene.order()
      passed.poll(1, TimeUnit.MINUTES) shouldBe empty
      scene.close()
    }
  }

  /** The first bytes of an event that is as long as that. */
  private def beginningOf(length: Int): ByteBuffer = {
    val bytes = ByteBuffer.allocate(16)
    bytes.putInt(0, length)
    bytes
  }
}
