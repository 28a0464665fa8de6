package io.github.kinesisspark.read.reader

import scala.collection.mutable

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class OverdraftSpec extends AnyFunSpec with Matchers {

  /** A task with three readers, where others hold all memory. */
  private final class Setting {
    private val member    = new MemoryBudget(_.run()).join(100)
    private val overdraft = new Overdraft
    val accounts          = Vector.fill(3)(member.account())
    val served            = mutable.Buffer.empty[Int]

    member.account().take(_ => 100)(_ => ())

    def ask(readers: Int*): Unit  = readers.foreach(n => accounts(n).take(_ => 10)(_ => served += n))
    def next(readers: Int*): Unit = overdraft.next(readers.map(accounts).toVector)
  }

  describe("the overdraft of a task") {
    it("serves one waiting reader, and no other while that one has its memory") {
      val s = new Setting
      s.ask(1, 2)
      s.next(0, 1, 2)
      s.next(0, 1, 2)
      s.served shouldBe Seq(1)
    }

    it("serves the next waiting reader if the one before has given its memory back or waits again, each in its turn") {
      val s = new Setting
      s.ask(0, 1, 2)
      s.next(0, 1, 2)
      s.ask(0)
      s.next(0, 1, 2)
      s.accounts(1).giveBack(10)
      s.next(0, 1, 2)
      s.accounts(2).giveBack(10)
      s.next(0, 1, 2)
      s.served shouldBe Seq(0, 1, 2, 0)
    }

    it("serves first who asked first, whatever place it has in the task") {
      val s = new Setting
      s.ask(2, 0, 1)
      s.next(0, 1, 2)
      s.served shouldBe Seq(2)
    }

    it("serves a reader again that is the only one to wait") {
      val s = new Setting
      s.ask(1)
      s.next(0, 1, 2)
      s.ask(1)
      s.next(0, 1, 2)
      s.served shouldBe Seq(1, 1)
    }

    it("serves the next waiting reader if the task no longer reads the one before") {
      val s = new Setting
      s.ask(1, 2)
      s.next(0, 1, 2)
      s.next(0, 2)
      s.served shouldBe Seq(1, 2)
    }

    it("serves a reader that waits after nobody did") {
      val s = new Setting
      s.next(0, 1, 2)
      s.ask(0)
      s.next(0, 1, 2)
      s.served shouldBe Seq(0)
    }
  }
}
