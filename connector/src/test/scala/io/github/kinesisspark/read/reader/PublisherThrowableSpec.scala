package io.github.kinesisspark.read.reader

import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.{Try, Using}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.EventuallyInAMinute
import io.github.kinesisspark.Generators._
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.position.{ShardPosition, ShardRange}

/** Whatever a step of a reader throws: the reader reports a failure or reads on, and its memory is free again. */
class PublisherThrowableSpec extends AnyFunSpec with Matchers with EventuallyInAMinute {
  private type Kind = (String, () => Throwable)

  /** Those that Scala's NonFatal leaves out. */
  private val errors: Seq[Kind] = Seq(
    "OutOfMemoryError"     -> (() => new OutOfMemoryError("as planned")),
    "StackOverflowError"   -> (() => new StackOverflowError("as planned")),
    "NoClassDefFoundError" -> (() => new NoClassDefFoundError("as planned"))
  )
  private val others: Seq[Kind] = Seq(
    "AssertionError"        -> (() => new AssertionError("as planned")),
    "IllegalStateException" -> (() => new IllegalStateException("as planned"))
  )

  /** Throws the first time. */
  private final class Once(kind: Kind) {
    private val left  = new AtomicBoolean(true)
    def apply(): Unit = if (left.getAndSet(false)) throw kind._2()
  }

  private def reportsOrReadsOn(scene: PublisherScene)(open: PublisherScene => RecordPublisher): Unit =
    Using.resource(scene) { s =>
      open(s).request()
      eventually {
        withClue("neither a failure nor a record: the shard stands still: ")(
          s.failures.size + s.deliveries.size should be > 0
        )
        withClue("memory that nobody gives back: ")(s.memory.used shouldBe 0)
      }
    }

  private def each(kinds: Seq[Kind])(body: Once => Unit): Unit =
    kinds.foreach(kind => withClue(s"${kind._1}: ")(body(new Once(kind))))

  describe("a polling reader reports a failure or reads on, and frees its memory, after") {
    it("any Throwable when GetShardIterator is called")(each(errors ++ others) { once =>
      val client = new StubKinesis {
        override def getShardIterator(r: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
          once()
          super.getShardIterator(r)
        }
      }
      reportsOrReadsOn(new PublisherScene(client))(_.polling())
    })

    it("any Throwable when GetRecords is called")(each(errors ++ others) { once =>
      val client = new StubKinesis {
        override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
          once()
          super.getRecords(r)
        }
      }
      reportsOrReadsOn(new PublisherScene(client))(_.polling())
    })

    it("any Throwable as the result of GetRecords")(each(errors ++ others) { once =>
      val client = new StubKinesis {
        override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
          try {
            once()
            super.getRecords(r)
          } catch { case planned: Throwable => CompletableFuture.failedFuture(planned) }
      }
      reportsOrReadsOn(new PublisherScene(client))(_.polling())
    })

    it("any Throwable when an answer is delivered")(each(errors ++ others) { once =>
      reportsOrReadsOn(new PublisherScene(new StubKinesis, () => once()))(_.polling())
    })
  }

  describe("a fan-out reader reports a failure or reads on, and frees its memory, after") {
    def subscribing(once: Once): Unit = {
      val client = new StubKinesis {
        override def subscribeToShard(
            r: SubscribeToShardRequest,
            handler: SubscribeToShardResponseHandler
        ): CompletableFuture[Void] = {
          once()
          super.subscribeToShard(r, handler)
        }
      }
      reportsOrReadsOn(new PublisherScene(client))(_.fanOut())
    }
    it("a fatal Error when SubscribeToShard is called")(each(errors)(subscribing))
    it("an exception when SubscribeToShard is called")(each(others)(subscribing))

    def delivering(once: Once): Unit = reportsOrReadsOn(new PublisherScene(new StubKinesis, () => once()))(_.fanOut())
    it("a fatal Error when an event is delivered")(each(errors)(delivering))
    it("an exception when an event is delivered")(each(others)(delivering))
  }

  describe("a task that reads a range fails, and does not wait forever, after") {
    it("any Throwable when the range is polled")(each(errors ++ others) { once =>
      val client = new StubKinesis {
        override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
          once()
          super.getRecords(r)
        }
      }
      Using.resource(new PublisherScene(client)) { scene =>
        val range  = ShardRange(shard(0), ShardPosition.TrimHorizon, ShardPosition.AfterSequenceNumber(number(1)))
        val ended  = new CountDownLatch(1)
        val reader = new Thread(() => {
          val wakeUp = new WakeUp
          Try {
            val records = new ShardConsumer(range, scene.sources, failOnDataLoss = true, wakeUp)
            while (!records.isReady) wakeUp.await()
          }: Unit
          ended.countDown()
        })
        reader.setDaemon(true)
        reader.start()
        withClue("the task still waits after a minute: ")(ended.await(1, TimeUnit.MINUTES) shouldBe true)
      }
    })
  }
}
