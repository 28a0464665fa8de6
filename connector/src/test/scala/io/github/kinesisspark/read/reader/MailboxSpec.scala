package io.github.kinesisspark.read.reader

import java.util.concurrent.Executor

import scala.collection.mutable

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class MailboxSpec extends AnyFunSpec with Matchers {
  describe("a mailbox") {
    it("brings a message that the worker didn't take along with the next one") {
      var isBroken         = true
      val worker: Executor = work => if (isBroken) throw new OutOfMemoryError("of the test") else work.run()
      val handled          = mutable.Buffer.empty[Int]
      val mailbox          = new Mailbox[Int](worker, throw _)(handled += _)
      an[OutOfMemoryError] should be thrownBy mailbox.put(1)
      isBroken = false
      mailbox.put(2)
      handled shouldBe Seq(1, 2)
    }

    it("handles what comes while it handles another message after that one, whatever that one throws") {
      val handled                    = mutable.Buffer.empty[Int]
      lazy val mailbox: Mailbox[Int] = new Mailbox[Int](_.run(), _ => handled += -1)(message => {
        if (message == 1) {
          mailbox.put(2)
          throw new LinkageError("of the test")
        }
        handled += message
      })
      mailbox.put(1)
      handled shouldBe Seq(-1, 2)
    }
  }
}
