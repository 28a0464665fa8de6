package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer

import scala.collection.mutable

import org.reactivestreams.{Subscriber, Subscription => Flow}
import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks
import software.amazon.awssdk.http.SdkHttpResponse

class EventMemoryGateSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val KB = 1 << 10

  /** A message of so many bytes, of which the first four say how many. */
  private def message(length: Int, fill: Int = 1): Array[Byte] = {
    val bytes = Array.fill(length)(fill.toByte)
    ByteBuffer.wrap(bytes).putInt(length)
    bytes
  }

  /** A stream whose bytes come in pieces when they are asked for, and who takes them behind the gate. */
  private final class Scene(bytes: Array[Byte], pieces: Seq[Int], capacity: Long = 64L * KB) {
    val budget  = new MemoryBudget(_.run())
    val member  = budget.join(capacity)
    val account = member.account()
    val other   = member.account()
    val gate    = new EventMemoryGate(account)

    val taken           = mutable.ArrayBuffer.empty[Byte]
    var ended           = Option.empty[String]
    var cancelled       = false
    private var demand  = Option.empty[Flow]
    private val chunks  = cut(bytes, pieces).iterator
    private val network = new Flow {
      override def request(n: Long): Unit = if (chunks.hasNext) through.onNext(chunks.next())
      override def cancel(): Unit         = cancelled = true
    }
    private val reader = new Subscriber[ByteBuffer] {
      override def onSubscribe(flow: Flow): Unit   = demand = Some(flow)
      override def onNext(bytes: ByteBuffer): Unit = while (bytes.hasRemaining) taken += bytes.get()
      override def onError(cause: Throwable): Unit = ended = Some(cause.getMessage)
      override def onComplete(): Unit              = ended = Some("completed")
    }
    private var through: Subscriber[_ >: ByteBuffer] = _
    gate
      .through(SdkHttpResponse.builder.statusCode(200).build, { to => through = to; to.onSubscribe(network) })
      .subscribe(reader)

    def request(n: Long): Unit = demand.foreach(_.request(n))
    def complete(): Unit       = through.onComplete()
    def fail(): Unit           = through.onError(new RuntimeException("reset"))
    def cancel(): Unit         = demand.foreach(_.cancel())

    /** Until nothing comes any more. */
    def readAll(): Unit = {
      var before = -1
      while (taken.size != before) {
        before = taken.size
        request(1)
      }
    }
  }

  it("a gate that is closed asks for no memory any more, so that readers behind it get theirs") {
    val s     = new Scene(message(40 * KB), Seq(16))
    val third = s.member.account()
    s.other.take(_ => s.budget.capacity - s.budget.used - KB)(_ => ())
    s.request(1)
    s.account.isWaiting shouldBe true
    var granted = 0L
    third.take(_ => KB / 2L)(granted += _)
    granted shouldBe 0
    s.gate.close()
    s.account.isWaiting shouldBe false
    granted shouldBe KB / 2
  }

  private def cut(bytes: Array[Byte], pieces: Seq[Int]): Vector[ByteBuffer] = {
    val ends = pieces.scanLeft(0)(_ + _).map(_.min(bytes.length)) :+ bytes.length
    ends.sliding(2).collect { case Seq(from, to) if from < to => ByteBuffer.wrap(bytes, from, to - from) }.toVector
  }

  describe("the bytes of a subscription's events") {
    it("pass unchanged, in whatever pieces they come, and all memory that was taken for them can be given back") {
      val streams = Gen.zip(Gen.listOf(Gen.choose(16, 200)), Gen.listOf(Gen.choose(1, 100)))
      forAll(streams) { case (lengths, pieces) =>
        val bytes = lengths.zipWithIndex.flatMap { case (length, i) => message(length, i) }.toArray
        val s     = new Scene(bytes, pieces)
        s.readAll()
        s.taken.toArray shouldBe bytes
        s.complete()
        s.ended shouldBe Some("completed")
        s.account.giveBack(s.gate.takeOver())
        s.budget.used shouldBe 0
      }
    }

    it("come only as far as they are asked for") {
      val s = new Scene(message(100) ++ message(100) ++ message(100), Seq(100, 100, 100))
      s.taken shouldBe empty
      s.request(1)
      s.taken.size shouldBe 100
    }

    it("take no memory of their own if an event comes whole") {
      val s = new Scene(message(100) ++ message(100), Seq(200))
      s.other.take(_ => s.budget.capacity)(_ => ())
      s.readAll()
      s.taken.size shouldBe 200
      s.gate.takeOver() shouldBe 0
    }

    it("wait for memory for an event in all its forms if it does not come whole, and nothing of it passes before") {
      val s = new Scene(message(100) ++ message(4 * KB), Seq(116))
      s.other.take(_ => s.budget.capacity)(_ => ())
      s.readAll()
      s.taken.size shouldBe 100
      s.account.isWaiting shouldBe true
      s.gate.isMoving shouldBe true
      s.other.giveBack(s.budget.capacity)
      s.budget.used shouldBe 20 * KB
      s.gate.takeOver() shouldBe 0
      s.readAll()
      s.taken.size shouldBe 100 + 4 * KB
      s.account.isWaiting shouldBe false
      s.gate.takeOver() shouldBe 20 * KB
      s.gate.takeOver() shouldBe 0
    }

    it(
      "take memory for five forms, or half of all if that is less, or for one form if that is more, and never more than three quarters"
    ) {
      val sizes = Map(1 -> 5, 5 -> 25, 10 -> 32, 30 -> 32, 40 -> 40, 60 -> 48, 1000 -> 48)
      sizes.foreach { case (length, memory) =>
        val s = new Scene(message(length * KB), Seq(16))
        s.request(1)
        s.budget.used shouldBe memory * KB
      }
    }

    it("are moving while an event comes, and not when nothing of it has come since the last look") {
      val s = new Scene(message(10 * KB), Seq(100, 100))
      s.gate.isMoving shouldBe false
      s.request(1)
      s.gate.isMoving shouldBe true
      s.gate.isMoving shouldBe false
      s.request(1)
      s.gate.isMoving shouldBe true
    }

    it("hold no memory after the gate is closed, whenever that is granted") {
      val s = new Scene(message(10 * KB) ++ message(10 * KB), Seq(10 * KB, 20))
      s.request(1)
      s.budget.used shouldBe 0
      s.other.take(_ => s.budget.capacity)(_ => ())
      s.request(1)
      s.gate.close()
      s.other.giveBack(s.budget.capacity)
      s.budget.used shouldBe 0
    }

    it("pass as they are where they are no events") {
      val s = new Scene("""{"__type":"ResourceInUseException"}""".getBytes, Seq(10, 10))
      s.readAll()
      s.complete()
      s.taken.toArray shouldBe """{"__type":"ResourceInUseException"}""".getBytes
      s.ended shouldBe Some("completed")
    }

    it("end with a failure at once, and pass a cancellation on") {
      val failing = new Scene(message(10 * KB), Seq(16))
      failing.other.take(_ => failing.budget.capacity)(_ => ())
      failing.request(1)
      failing.fail()
      failing.ended shouldBe Some("reset")
      val cancelled = new Scene(message(100), Nil)
      cancelled.cancel()
      cancelled.request(1)
      cancelled.cancelled shouldBe true
      cancelled.taken shouldBe empty
    }
  }
}
