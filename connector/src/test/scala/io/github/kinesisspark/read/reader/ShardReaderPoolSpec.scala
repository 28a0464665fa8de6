package io.github.kinesisspark.read.reader

import java.util.concurrent.Executors

import scala.concurrent.duration._

import org.scalatest.BeforeAndAfterAll
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ShardReaderPoolSpec extends AnyFunSpec with Matchers with BeforeAndAfterAll {
  private val worker = Executors.newScheduledThreadPool(1)
  private val config =
    ReaderConfig("source", Map.empty, bufferBytes = 16L << 20, callsPerSecond = 5, failOnDataLoss = true)

  private def pool() = new ShardReaderPool(config, worker, new MemoryBudget, () => ())

  private def probe(number: Long, lease: FiniteDuration = 1.minute) = ProbeRequest(
    executorId = "1",
    number,
    config,
    Publication.Polling,
    shards = Vector.empty,
    ending = Set.empty,
    stops = Map.empty,
    sinceMillis = 0,
    lease.toMillis,
    Grain.none,
    hasRead = false
  )

  override def afterAll(): Unit = worker.shutdownNow(): Unit

  describe("a request") {
    it("that a later one has overtaken gets no answer") {
      val readers = pool()
      readers.probe(probe(number = 2)) should not be empty
      readers.probe(probe(number = 1)) shouldBe empty
      readers.probe(probe(number = 2)) shouldBe empty
      readers.probe(probe(number = 3)) should not be empty
    }

    it("to readers that are closed gets no answer") {
      val readers = pool()
      readers.close()
      readers.probe(probe(number = 1)) shouldBe empty
    }
  }

  describe("the lease of readers") {
    it("ends after its length without a request, and is renewed by a heartbeat") {
      val readers = pool()
      readers.probe(probe(number = 1))
      readers.isExpired shouldBe false
      val forgotten = pool()
      forgotten.probe(probe(number = 1, lease = Duration.Zero))
      forgotten.isExpired shouldBe true
      forgotten.renewLease(1.minute)
      forgotten.isExpired shouldBe false
      forgotten.renewLease(Duration.Zero)
      forgotten.isExpired shouldBe false
    }
  }
}
