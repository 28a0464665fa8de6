package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer

import scala.collection.mutable

import org.reactivestreams.{Subscriber, Subscription => Flow}
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.http.SdkHttpResponse

import io.github.kinesisspark.JvmRuntime.runtime

class AnswerMemoryGateSpec extends AnyFunSpec with Matchers {
  private val KB = 1L << 10

  /** An answer in two chunks, before which memory was taken, and who reads it. */
  private final class Scene(taken: Long, length: Option[Long], capacity: Long = 100 * KB) {
    val budget = new MemoryBudget(_.run())
    val member = budget.join(capacity)
    val own    = member.account()
    val other  = member.account()
    own.take(_ => taken)(_ => ())

    val gate      = new AnswerMemoryGate(own, taken, (_, bytes) => bytes)
    val received  = mutable.Buffer.empty[String]
    var asked     = 0L
    var cancelled = false

    private var through = Option.empty[Subscriber[? >: ByteBuffer]]
    private var reading = Option.empty[Flow]
    private val network = new Flow {
      override def request(n: Long): Unit = asked += n
      override def cancel(): Unit         = cancelled = true
    }
    private val reader = new Subscriber[ByteBuffer] {
      override def onSubscribe(flow: Flow): Unit   = reading = Some(flow)
      override def onNext(bytes: ByteBuffer): Unit = received += s"${bytes.remaining} bytes"
      override def onError(cause: Throwable): Unit = received += cause.getMessage
      override def onComplete(): Unit              = received += "completed"
    }

    def fill(): Unit = other.take(_ => capacity - budget.used)(_ => ())

    def begin(): Unit = {
      val head = SdkHttpResponse.builder.statusCode(200)
      length.foreach(bytes => head.putHeader("Content-Length", bytes.toString))
      gate
        .through(head.build, { to => through = Some(to); to.onSubscribe(network) })
        .subscribe(reader)
    }

    def request(n: Long): Unit = reading.foreach(_.request(n))
    def cancel(): Unit         = reading.foreach(_.cancel())
    def arrive(): Unit         = through.foreach { to =>
      to.onNext(ByteBuffer.allocate(3))
      to.onComplete()
    }
  }

  describe("the bytes of an answer") {
    it("pass at once where the memory that was taken before is enough for two forms of them") {
      val s = new Scene(taken = 20 * KB, length = Some(10 * KB))
      s.fill()
      s.begin()
      s.request(2)
      s.asked shouldBe 2
      s.arrive()
      s.received shouldBe Seq("3 bytes", "completed")
      s.gate.missing shouldBe None
      s.gate.takeOver() shouldBe 20 * KB
    }

    it("wait in the network until there is memory for all of them, and the answer holds none meanwhile") {
      val s = new Scene(taken = 20 * KB, length = Some(11 * KB))
      s.fill()
      s.other.take(_ => 10 * KB)(_ => ())
      s.begin()
      s.request(1)
      s.request(Long.MaxValue)
      s.asked shouldBe 0
      s.own.isWaiting shouldBe true
      s.gate.missing shouldBe Some(22 * KB)
      s.budget.used shouldBe 90 * KB
      s.other.giveBack(12 * KB)
      s.asked shouldBe Long.MaxValue
      s.gate.missing shouldBe None
      s.budget.used shouldBe 100 * KB
      s.gate.takeOver() shouldBe 22 * KB
    }

    it("leave no request for memory behind once their call is over") {
      val s = new Scene(taken = 20 * KB, length = Some(11 * KB))
      s.fill()
      s.other.take(_ => 10 * KB)(_ => ())
      s.begin()
      s.gate.takeOver() shouldBe 0
      s.own.isWaiting shouldBe false
      s.gate.missing shouldBe Some(22 * KB)
      var next = 0L
      s.own.take(_ => 22 * KB)(next = _)
      s.other.giveBack(12 * KB)
      next shouldBe 22 * KB
      s.own.used shouldBe 22 * KB
    }

    it("pass when they are asked for later than memory was there") {
      val s = new Scene(taken = KB, length = Some(10 * KB))
      s.begin()
      s.budget.used shouldBe 20 * KB
      s.asked shouldBe 0
      s.request(3)
      s.asked shouldBe 3
    }

    it("need as much as the largest answer does where their number isn't said") {
      val capacity = 100L << 20
      val s        = new Scene(taken = KB, length = None, capacity)
      s.begin()
      s.budget.used shouldBe MemoryBudget.LargestRequest
    }

    it("need three quarters of all memory at most") {
      val s = new Scene(taken = KB, length = Some(1000 * KB))
      s.begin()
      s.budget.used shouldBe 75 * KB
    }

    it("end with a failure while they wait, and memory that is granted after that is given back") {
      val s = new Scene(taken = KB, length = Some(10 * KB))
      s.fill()
      s.other.take(_ => KB)(_ => ())
      s.begin()
      s.cancel()
      s.cancelled shouldBe true
      s.gate.missing shouldBe Some(20 * KB)
      s.gate.takeOver() shouldBe 0
      s.other.giveBack(100 * KB)
      s.budget.used shouldBe 0
      s.asked shouldBe 0
    }
  }
}
