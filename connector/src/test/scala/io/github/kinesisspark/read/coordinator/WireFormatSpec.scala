package io.github.kinesisspark.read.coordinator

import java.util.concurrent.atomic.AtomicReference

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.WireFormat
import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.read.reader.ReleaseRequest

class WireFormatSpec extends AnyFunSpec with Matchers {
  describe("a request") {
    it("is read by a thread whose class loader doesn't know its class") {
      val request = ReleaseRequest("1", "source")
      val bytes   = WireFormat.write(request)
      val found   = new AtomicReference[ReleaseRequest]
      val thread  = new Thread(() => found.set(WireFormat.read[ReleaseRequest](bytes)))
      thread.setContextClassLoader(ClassLoader.getPlatformClassLoader)
      thread.start()
      thread.join()
      found.get shouldBe request
    }
  }

  describe("a reply") {
    it("brings the answer, or that there is none") {
      Reply.read[String](Reply.of(Some("answer"))) shouldBe Some("answer")
      Reply.read[String](Reply.of(None)) shouldBe None
    }

    it("throws what the executor failed with") {
      val thrown =
        intercept[KinesisException](Reply.read[String](Reply.of(throw new KinesisException("CLASS", "text"))))
      thrown.errorClass shouldBe "CLASS"
    }

    it("throws an exception with the text of a failure that can't be serialized") {
      final class Foreign extends RuntimeException("text") { val thread: Thread = Thread.currentThread }
      intercept[IllegalStateException](Reply.read[String](Reply.of(throw new Foreign))).getMessage should include(
        "text"
      )
    }
  }
}
