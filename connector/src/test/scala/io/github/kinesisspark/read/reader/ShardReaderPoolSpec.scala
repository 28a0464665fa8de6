package io.github.kinesisspark.read.reader

import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}

import scala.concurrent.{Future, Promise}
import scala.concurrent.duration._

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.{shard, stream}
import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.position.{ConsumerArn, SequenceNumber, ShardKey, ShardPosition}
import io.github.kinesisspark.read.plan.BoundarySpacing
import io.github.kinesisspark.read.reader.ResolvedPublisher.FanOut
import io.github.kinesisspark.runtime.Runtime

class ShardReaderPoolSpec extends AnyFunSpec with Matchers with BeforeAndAfterAll {
  private val shared = new ReadersShared(KinesisClients.ofJvm, Runtime.ofJvm.workers.fixed("pool", 1))
  private val config =
    ReaderConfig("source", Map.empty, bufferBytes = 16L << 20, PollingOptions.Default, failOnDataLoss = true)

  private def pool(report: ReaderReport => Future[Boolean] = _ => Future.successful(true)) =
    new ShardReaderPool(config, () => "1", shared, report)

  private def order(
      number: Long,
      isOfAllShards: Boolean = false,
      liveness: Liveness = Liveness.Heartbeats,
      driverNanos: Long = System.nanoTime(),
      commit: Boolean = false,
      batchEnds: Vector[(ShardKey, ShardPosition)] = Vector.empty
  ) = ReadOrder(
    config.sourceId,
    number,
    Option.when(isOfAllShards)(ReadOrder.ReadSettings(config, ResolvedPublisher.Polling)),
    commit,
    read = Vector.empty,
    release = Vector.empty,
    batchEnds,
    driverNanos,
    liveness,
    BoundarySpacing.none,
    pauseMillis = 0,
    hasRead = false
  )

  /** Gets reports, and answers each when the test has it do so. */
  private final class Driver {
    val reports         = new LinkedBlockingQueue[ReaderReport]
    private val answers = new LinkedBlockingQueue[Promise[Boolean]]

    def accept(report: ReaderReport): Future[Boolean] = {
      val answer = Promise[Boolean]()
      answers.add(answer)
      reports.add(report)
      answer.future
    }

    def next(): ReaderReport              = reports.poll(1, TimeUnit.MINUTES)
    def answer(isAccepted: Boolean): Unit = answers.take().success(isAccepted): Unit
  }

  override def afterAll(): Unit = shared.worker.close()

  /** Its only thread ends the work before, and begins none until then. */
  private def whileNothingIsReported(body: => Unit): Unit = {
    val (idle, over) = (new CountDownLatch(1), new CountDownLatch(1))
    shared.worker.execute { () =>
      idle.countDown()
      over.await()
    }
    idle.await()
    try body
    finally over.countDown()
  }

  describe("an order") {
    it("is carried out if it follows the one before or names all shards") {
      val readers = pool()
      readers.applyOrder(order(number = 3)).map(_.isNext) shouldBe Some(false)
      readers.applyOrder(order(number = 3, isOfAllShards = true)).map(_.isNext) shouldBe Some(true)
      readers.applyOrder(order(number = 4)).map(_.isNext) shouldBe Some(true)
      readers.applyOrder(order(number = 6)).map(_.isNext) shouldBe Some(false)
      readers.applyOrder(order(number = 7, isOfAllShards = true)).map(_.isNext) shouldBe Some(true)
    }

    it("that a later one has overtaken gets no answer") {
      val readers = pool()
      readers.applyOrder(order(number = 2, isOfAllShards = true)) should not be empty
      readers.applyOrder(order(number = 1, isOfAllShards = true)) shouldBe empty
      readers.applyOrder(order(number = 2)) shouldBe empty
    }

    it("to readers that are closed gets no answer") {
      val readers = pool()
      readers.close()
      readers.applyOrder(order(number = 1, isOfAllShards = true)) shouldBe empty
    }
  }

  describe("reports") {
    it("come after orders, one at a time, and name all readers until one is accepted") {
      val driver  = new Driver
      val readers = pool(driver.accept)
      readers.applyOrder(order(number = 1, isOfAllShards = true))
      driver.next().isOfAllReaders shouldBe true
      readers.applyOrder(order(number = 2))
      driver.reports.size shouldBe 0
      driver.answer(false)
      val repeated = driver.next()
      (repeated.isOfAllReaders, repeated.applied, repeated.number) shouldBe ((true, 2, 2))
      driver.answer(true)
      readers.applyOrder(order(number = 3))
      val last = driver.next()
      (last.isOfAllReaders, last.applied, last.number) shouldBe ((false, 3, 3))
    }

    it(
      "have time while a batch runs, and come with the answer to the order that commits it, with where the readers are by then"
    ) {
      val sent    = new LinkedBlockingQueue[ReaderReport]
      val readers = pool { report =>
        sent.add(report)
        Future.successful(true)
      }
      def applied()           = sent.poll(1, TimeUnit.MINUTES).applied
      def until(number: Long) = Iterator.continually(applied()).find(_ == number)
      def begin(number: Long) =
        readers.applyOrder(order(number, batchEnds = Vector(shard(0) -> ShardPosition.ShardEnd)))
      def commit(number: Long) = readers.applyOrder(order(number, commit = true))
      readers.applyOrder(order(number = 1, isOfAllShards = true))
      val began = System.nanoTime()
      readers.applyOrder(order(number = 2))
      until(2)
      begin(3)
      // Tasks count what they have read.
      readers.count(UserRecordCount.none)
      until(3)
      (System.nanoTime() - began).nanos should be >= ReportSchedule.QuietPause
      // The last report may still be on its way, and the next must not be: it would go before the answer.
      whileNothingIsReported {
        for (number <- 4L to 22L by 2) {
          begin(number)
          commit(number + 1).flatMap(_.report).map(_.applied) shouldBe Some(number + 1)
        }
      }
    }

    it("follow one that is on its way when a batch is committed") {
      val driver  = new Driver
      val readers = pool(driver.accept)
      readers.applyOrder(order(number = 1, isOfAllShards = true))
      driver.next().applied shouldBe 1
      readers.applyOrder(order(number = 2, commit = true)).get.report shouldBe empty
      driver.answer(true)
      driver.next().applied shouldBe 2
    }

    it("have the driver's time no later than it is, whatever clock the executor has") {
      val driver  = new Driver
      val readers = pool(driver.accept)
      val ahead   = 1.hour.toNanos
      readers.applyOrder(order(number = 1, isOfAllShards = true, driverNanos = ahead))
      driver.next().atNanos should (be >= ahead and be < ahead + 1.minute.toNanos)
    }
  }

  describe("the lease of readers") {
    it("begins with an order, a heartbeat or a task, and a shorter one ends none that is longer") {
      val begin = Seq[ShardReaderPool => Any](
        _.applyOrder(order(number = 1, isOfAllShards = true)),
        _.named(epoch = 1, Heartbeat(Map.empty, driverNanos = 0, answeredNanos = None)),
        _.renewLease(Liveness.AfterTask)
      )
      begin.foreach { begin =>
        val readers = pool()
        begin(readers)
        readers.isExpired shouldBe false
        readers.renewLease(Duration.Zero)
        readers.isExpired shouldBe false
      }
    }
  }

  describe("readers") {
    def heartbeat(answeredNanos: Long) = Heartbeat(Map.empty, driverNanos = 0, Some(answeredNanos))

    it(
      "are named by a heartbeat once they have carried out the last change of shards, as of the answer that the driver had received"
    ) {
      val readers = pool()
      readers.applyOrder(order(number = 1, isOfAllShards = true))
      readers.named(epoch = 2, heartbeat(answeredNanos = 100)) shouldBe 1
      readers.isNamedSince(50) shouldBe false
      readers.applyOrder(order(number = 2))
      readers.named(epoch = 2, heartbeat(answeredNanos = 100)) shouldBe 2
      readers.isNamedSince(50) shouldBe true
      readers.isNamedSince(100) shouldBe false
    }

    val ofStream = config.copy(streams =
      Map(stream -> StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1"))
    )

    /** Readers of a service that doesn't answer. */
    def readersOfStream() = {
      val client =
        new KinesisClients((_, success) => new KinesisClients.SharedClient(new StubKinesis, success, () => ()))(
          Runtime.ofJvm
        )
      new ShardReaderPool(ofStream, () => "1", new ReadersShared(client, shared.worker), _ => Future.successful(true))
    }

    it("know that their shard is closed, also where they take another one's place") {
      val readers = readersOfStream()
      val toRead  = ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = true)
      val end     = ShardPosition.AfterSequenceNumber(SequenceNumber("5"))
      val by      = Some(ReadOrder.ReadSettings(ofStream, ResolvedPublisher.Polling))
      readers.applyOrder(
        order(number = 1, batchEnds = Vector(shard(0) -> end)).copy(settings = by, read = Vector(toRead))
      )
      val first = readers.all.head
      readers.applyOrder(order(number = 2, commit = true))
      val second = readers.all.head
      second should not be theSameInstanceAs(first)
      second.isOfClosedShard shouldBe true
      readers.close()
    }

    it("stay with the newer consumer when a task or an order of the older one comes late") {
      val older         = FanOut(Map(stream -> ConsumerArn(s"${stream.text}/consumer/it:1600000000")))
      val newer         = older.renewed(stream, ConsumerArn(s"${stream.text}/consumer/it:1600000001"))
      val readers       = readersOfStream()
      val toRead        = ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false)
      def by(p: FanOut) = Some(ReadOrder.ReadSettings(ofStream, p))
      readers.applyOrder(order(number = 1).copy(settings = by(newer), read = Vector(toRead)))
      val ordered = readers.all
      readers.follow(shard(1), ShardPosition.TrimHorizon, older, () => ())
      readers.all.map(_.shard) shouldBe Vector(shard(0), shard(1))
      readers.all.head should be theSameInstanceAs ordered.head
      readers.applyOrder(order(number = 2).copy(settings = by(older), read = Vector(toRead)))
      readers.all.head should be theSameInstanceAs ordered.head
      readers.close()
    }

    it("of shards that a task has begun are left to it by an order that comes late") {
      val readers = readersOfStream()
      val toRead  = ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false)
      val taken   = ShardPosition.AfterSequenceNumber(SequenceNumber("5"))
      val by      = Some(ReadOrder.ReadSettings(ofStream, ResolvedPublisher.Polling))
      val begun   = Vector(shard(0) -> taken, shard(1) -> ShardPosition.TrimHorizon).map { case (key, from) =>
        readers.follow(key, from, ResolvedPublisher.Polling, () => ())
      }
      readers.applyOrder(order(number = 1).copy(settings = by, read = Vector(toRead)))
      readers.all shouldBe begun
      readers.close()
    }

    it("that a task follows stay where it has come to when their order is repeated") {
      val readers = readersOfStream()
      val toRead  = ReadOrder.ShardToRead(shard(0), ShardPosition.TrimHorizon, stop = None, isClosed = false)
      val by      = Some(ReadOrder.ReadSettings(ofStream, ResolvedPublisher.Polling))
      def ordered(number: Long) = readers.applyOrder(order(number).copy(settings = by, read = Vector(toRead)))
      ordered(1)
      val taken    = ShardPosition.AfterSequenceNumber(SequenceNumber("5"))
      val followed = readers.follow(shard(0), taken, ResolvedPublisher.Polling, () => ())
      ordered(2)
      readers.all shouldBe Vector(followed)
      followed.close()
      readers.close()
    }

    it("are not expired before their first order is carried out") {
      pool().isExpired shouldBe false
    }

    it("are always named in the driver's own process") {
      val readers = pool()
      readers.isNamedSince(Runtime.ofJvm.clock.nanos()) shouldBe false
      readers.applyOrder(order(number = 1, isOfAllShards = true, liveness = Liveness.SameProcess))
      readers.isNamedSince(Runtime.ofJvm.clock.nanos()) shouldBe true
    }
  }
}
