package io.github.kinesisspark.read.reader

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

class MemoryBudgetSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val Largest = MemoryBudget.LargestRequest

  private final class Setting(sizes: Long*) {
    val budget  = new MemoryBudget(_.run())
    val members = sizes.map(budget.join)
    val readers = members.map(_.account())
    val served  = mutable.Buffer.empty[Int]

    /** By the first reader, unless another is named. */
    def take(name: Int, bytes: Long, by: Int = 0): Unit = readers(by).take(_ => bytes)(_ => served += name)
  }

  /** Takes up to `most` bytes and gives them back in any order, by three members of which the largest has `size` bytes.
    *
    * @param bound of what is used, by all that was ever granted: bytes, and to whom
    */
  private def everyUse(size: Long, most: Long)(bound: Seq[(Long, Int)] => Long) =
    forAll(Gen.listOf(Gen.zip(Gen.choose(1L, most), Gen.choose(0, 2)))) { wants =>
      val s        = new Setting(size, size / 2, size / 5)
      val granted  = mutable.Buffer.empty[(Long, Int)]
      val reserved = mutable.Queue.empty[(Long, Int)]

      def giveBack(): Unit = {
        val (bytes, by) = reserved.dequeue()
        s.readers(by).giveBack(bytes)
      }
      wants.foreach { case (bytes, by) =>
        s.readers(by).take(_ => bytes) { _ =>
          granted += bytes  -> by
          reserved += bytes -> by
        }
        if (granted.nonEmpty) s.budget.used should be <= bound(granted.toSeq)
        if (reserved.size > 1) giveBack()
      }
      while (reserved.nonEmpty) giveBack()
      s.budget.used shouldBe 0
      granted.size shouldBe wants.size
    }

  describe("the memory budget") {
    it("grants at most its capacity, and serves waiting requests in order") {
      val s = new Setting(100)
      s.take(1, 60)
      s.take(2, 60)
      s.take(3, 10)
      s.served shouldBe Seq(1)
      s.readers.head.giveBack(60)
      s.served shouldBe Seq(1, 2, 3)
      s.budget.used shouldBe 70
    }

    it("stays within its capacity over any sequence of takes and returns of several members") {
      everyUse(4 * Largest, most = Largest)(_ => 4 * Largest)
    }

    it("exceeds a capacity too small to keep memory free by one request of each further member and a little at most") {
      // The one that is within the capacity may be any of them. Each, that one too, has an eighth of it at most when its request is served.
      everyUse(100, most = 100)(granted =>
        112 + granted.groupMap(_._2)(_._1).values.map(_.max + 12).toSeq.sorted.tail.sum
      )
    }

    it("is as large as the largest of its members asks for") {
      val s = new Setting(100, 50)
      s.budget.capacity shouldBe 100
      s.members.head.close()
      s.budget.capacity shouldBe 50
      s.members.last.close()
      s.budget.join(20)
      s.budget.capacity shouldBe 20
    }

    it("gives each reader an even share of three quarters of it, whoever the reader is of") {
      val s = new Setting(200, 50)
      s.members.head.account()
      s.members.last.account()
      s.readers.map(_.share) shouldBe Seq(37, 37)
      s.readers.head.close()
      s.readers.map(_.share) shouldBe Seq(50, 50)
    }

    it("keeps the memory of one largest request free for a member that holds nothing, where there is room") {
      val s = new Setting(4 * Largest, 4 * Largest)
      (1 to 4).foreach(s.take(_, Largest))
      s.served shouldBe Seq(1, 2, 3)
      s.take(5, Largest, by = 1)
      s.served shouldBe Seq(1, 2, 3, 5)
      // That member closes, and nothing has to be kept any more.
      s.readers(1).giveBack(Largest)
      s.members(1).close()
      s.served shouldBe Seq(1, 2, 3, 5, 4)
    }

    it("serves a source that holds nothing beyond a capacity that is too small to keep memory free for it, once") {
      val s = new Setting(100, 100)
      s.take(1, 100)
      s.take(2, 60, by = 1)
      s.served shouldBe Seq(1, 2)
      s.take(3, 10, by = 1)
      s.take(4, 10)
      s.served shouldBe Seq(1, 2)
      // The first has given its memory back and holds nothing, and the second holds little.
      s.readers.head.giveBack(100)
      s.served shouldBe Seq(1, 2, 3, 4)
    }

    it(
      "serves a source beyond it whose readers only hold what small events are awaited with, where it is too small or a request is large"
    ) {
      for ((capacity, event) <- Seq(Largest -> Largest, 10 * Largest -> 3 * Largest)) {
        val s    = new Setting(capacity, capacity)
        val idle = s.members.last.account()
        s.take(1, 16 << 10, by = 1)
        idle.take(_ => 16 << 10)(_ => s.served += 2)
        s.take(3, capacity - Largest)
        s.take(4, event, by = 1)
        s.served shouldBe Seq(1, 2, 3, 4)
      }
    }

    it("is small where it can't keep the memory of a largest answer free for each source that reads, and another") {
      val s = new Setting(3 * Largest - 1, 1)
      s.readers.map(_.isSmall) shouldBe Seq(true, true)
      s.readers.last.close()
      s.readers.head.isSmall shouldBe false
      new Setting(3 * Largest, 1).readers.map(_.isSmall) shouldBe Seq(false, false)
    }

    it("serves the oldest request of a source as soon as that holds nothing any more") {
      val s = new Setting(100, 100)
      s.take(1, 100)
      s.take(2, 20, by = 1)
      s.take(3, 80, by = 1)
      s.take(4, 90, by = 1)
      s.served shouldBe Seq(1, 2)
      s.readers(1).giveBack(20)
      s.served shouldBe Seq(1, 2, 3)
    }

    it("grants the memory of the largest event, however many members hold nothing") {
      // A record of 10 MiB in base64.
      val event = EventMemoryGate.Forms * (14L << 20)
      for (others <- 0 to 100) {
        val s = new Setting(Vector.fill(others + 1)((others + 2) * Largest): _*)
        s.take(others, event)
        s.served shouldBe Seq(others)
      }
    }

    it("grants beyond its capacity what a task waits for, once, and nobody else's request") {
      val s        = new Setting(100)
      var notified = 0
      s.take(1, 100)
      val other = s.members.head.account(() => notified += 1)
      s.take(2, 10)
      other.take(_ => 10)(_ => s.served += 3)
      notified shouldBe 1
      s.served shouldBe Seq(1)
      other.overdraw()
      s.served shouldBe Seq(1, 3)
      other.overdraw()
      other.take(_ => 10)(_ => s.served += 4)
      s.served shouldBe Seq(1, 3)
    }

    it("serves those behind a request that is withdrawn, and not that one") {
      val s     = new Setting(100)
      val large = s.readers.head.take(_ => 60)(_ => ())
      val own   = s.readers.head.take(_ => 60)(_ => s.served += 1)
      s.take(2, 40)
      s.served shouldBe empty
      own.withdraw()
      s.served shouldBe Seq(2)
      large.withdraw()
      s.budget.used shouldBe 100
    }

    it("reports who waits for memory") {
      val s = new Setting(100, 100)
      s.take(1, 100)
      s.take(2, 20, by = 1)
      s.take(3, 1, by = 1)
      s.readers.map(_.isWaiting) shouldBe Seq(false, true)
      s.readers.head.giveBack(100)
      s.readers.map(_.isWaiting) shouldBe Seq(false, false)
    }

    it("grants all of it to a request for more") {
      val s       = new Setting(100)
      var granted = 0L
      s.readers.head.take(_ => 101)(granted = _)
      granted shouldBe 100
    }

    it("serves a request that was made while a larger member was there, and those behind it, when that has left") {
      val s = new Setting(50, 100)
      s.take(1, 85, by = 1)
      s.take(2, 15)
      s.readers.head.take(_ * 3 / 5)(bytes => s.served += bytes.toInt)
      s.take(3, 0)
      s.members(1).close()
      s.readers(1).giveBack(85)
      s.served shouldBe Seq(1, 2, 30, 3)
    }

    it("keeps nothing free for a member without readers") {
      val s = new Setting(4 * Largest, 4 * Largest)
      (1 to 4).foreach(s.take(_, Largest))
      s.served shouldBe Seq(1, 2, 3)
      s.readers(1).close()
      s.served shouldBe Seq(1, 2, 3, 4)
    }
  }
}
