package io.github.kinesisspark.it.faults

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import scala.concurrent.duration.FiniteDuration

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.services.kinesis.model.InternalFailureException

import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.{ConsumerArn, SequenceNumber, ShardKey, ShardPosition, StreamArn}
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.read.reader.{FanOutRecordPublisher, MemoryBudget, ReaderTelemetry, ReadingClient}
import io.github.kinesisspark.runtime.{Timer, Worker}

/** The SDK's callbacks of a subscription that is over, in every order: driven by hand through the connector's publisher, with
  * the default options.
  */
final class LateCallbacksSpec extends AnyFunSpec with Matchers with Eventually {
  import LateCallbacksSpec._

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(10, Millis))

  /** A reader that asks for the next delivery whenever one has come. */
  private final class Reader extends Sink {
    val client                                = new ScriptedSubscriptions
    val worker                                = new CountingWorker
    val budget                                = new MemoryBudget(worker)
    val telemetry                             = new ReaderTelemetry
    override val memory: MemoryBudget.Account = budget.join(16L << 20).account()
    val delivered                             = new LinkedBlockingQueue[Delivery]
    @volatile var failure                     = Option.empty[KinesisException]
    val publisher: FanOutRecordPublisher      = new FanOutRecordPublisher(
      Shard,
      ShardPosition.TrimHorizon,
      System.nanoTime(),
      Consumer,
      ReadingClient(client, CallRetries.default, isAws = false, () => true, () => ()),
      worker,
      telemetry,
      (_, _) => throw new AssertionError("the shard is not closed"),
      isNamedSince = _ => true,
      this
    )

    override def deliver(delivery: Delivery): Unit = {
      delivered.put(delivery)
      memory.giveBack(delivery.totals.heap)
      publisher.request()
    }
    override def fail(cause: KinesisException): Unit = failure = Some(cause)

    /** The sequence number of the next record that is delivered. */
    def next(): String =
      Option(delivered.poll(30, TimeUnit.SECONDS))
        .map(_.records.map(_.sequenceNumber.text).mkString)
        .getOrElse("nothing")

    def stop(): Unit = {
      publisher.close()
      eventually(budget.used shouldBe 0L)
      worker.close()
    }
  }

  /** All that a call can still say once it is over. */
  private val signals: Seq[(String, ScriptedSubscriptions.Call => Unit)] = Seq(
    "an event"                     -> (_.bring(number(999))),
    "an error of its stream"       -> (_.failStream(failed())),
    "an error of its handler"      -> (_.failHandler(failed())),
    "an error of its future"       -> (_.failFuture(failed())),
    "the completion of its stream" -> (_.completeStream()),
    "the completion of its future" -> (_.completeFuture())
  )

  private val ends: Seq[(String, ScriptedSubscriptions.Call => Unit)] = Seq(
    "has failed"    -> (_.failStream(failed())),
    "has completed" -> (_.completeStream())
  )

  describe("a subscription that is over") {
    for ((how, end) <- ends)
      it(s"changes nothing when it still sends events, errors and completions after it $how") {
        val reader = new Reader
        reader.publisher.request()
        val old = reader.client.next()
        old.open()
        eventually(old.requested shouldBe 1L)
        old.bring(number(1))
        reader.next() shouldBe number(1)
        eventually(old.requested shouldBe 2L)
        end(old)
        val current = reader.client.next()
        current.request.startingPosition.sequenceNumber shouldBe number(1)
        eventually(old.cancelled shouldBe true)
        // Before the current call is open, while it is, and after its first event.
        signals.foreach(_._2(old))
        current.open()
        eventually(current.requested shouldBe 1L)
        signals.reverse.foreach(_._2(old))
        current.bring(number(2))
        reader.next() shouldBe number(2)
        for (_ <- 1 to 3; (_, signal) <- signals) signal(old)
        // Messages are handled in order: when this event is delivered, all that came before it has had its effect.
        eventually(current.requested shouldBe 2L)
        current.bring(number(3))
        reader.next() shouldBe number(3)
        eventually(current.requested shouldBe 3L)
        reader.client.pending shouldBe 0
        current.cancelled shouldBe false
        reader.failure shouldBe empty
        reader.delivered.size shouldBe 0
        val report = reader.telemetry.subscriptions
        (report.live, report.resubscriptions, report.refused) shouldBe ((1, 1L, 0L))
        report.failed shouldBe (if (how == "has failed") 1L else 0L)
        reader.stop()
      }
  }

  describe("a publisher that was closed") {
    it("delivers nothing, calls nothing and gives all memory back, whatever its subscription still sends") {
      val reader = new Reader
      reader.publisher.request()
      val call = reader.client.next()
      call.open()
      eventually(call.requested shouldBe 1L)
      reader.publisher.close()
      eventually(call.cancelled shouldBe true)
      signals.foreach(_._2(call))
      eventually {
        reader.budget.used shouldBe 0L
        reader.worker.toDo shouldBe 0
      }
      reader.delivered.size shouldBe 0
      reader.failure shouldBe empty
      reader.client.pending shouldBe 0
      reader.worker.close()
    }
  }

  describe("a call that fails in three ways at once before it is open") {
    it("is made again once") {
      val reader = new Reader
      reader.publisher.request()
      val old = reader.client.next()
      old.failHandler(failed())
      old.failFuture(failed())
      old.failHandler(failed())
      val current = reader.client.next()
      current.open()
      eventually(current.requested shouldBe 1L)
      current.bring(number(1))
      reader.next() shouldBe number(1)
      reader.client.pending shouldBe 0
      reader.telemetry.subscriptions.failed shouldBe 1L
      reader.stop()
    }
  }
}

object LateCallbacksSpec {

  /** Knows how much work and how many timers it has. */
  private final class CountingWorker extends Worker {
    private val threads = runtime.workers.fixed("late-callbacks", 2)
    private val left    = new AtomicInteger

    def toDo: Int = left.get

    override def execute(work: Runnable): Unit = {
      left.incrementAndGet()
      threads.execute { () =>
        try work.run()
        finally left.decrementAndGet(): Unit
      }
    }

    override def schedule(nanos: Long)(work: => Unit): Timer = {
      left.incrementAndGet()
      val open  = new AtomicBoolean(true)
      val timer = threads.schedule(nanos)(
        if (open.getAndSet(false))
          try work
          finally left.decrementAndGet(): Unit
      )
      () => {
        timer.cancel()
        if (open.getAndSet(false)) left.decrementAndGet(): Unit
      }
    }

    override def every(pause: FiniteDuration)(work: => Unit): Timer = threads.every(pause)(work)
    override def close(): Unit                                      = threads.close()
  }

  private val Stream   = StreamArn("arn:aws:kinesis:us-east-1:000000000000:stream/late")
  private val Shard    = ShardKey(Stream, "shardId-000000000000")
  private val Consumer = ConsumerArn.parse(s"${Stream.text}/consumer/late:1").get

  private def number(n: Int): String =
    SequenceNumber.parse(f"4968042592000000000316716009666593121580033988622${n}%07d").get.text

  private def failed(): Throwable = InternalFailureException.builder.message("injected").build
}
