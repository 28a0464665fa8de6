package io.github.kinesisspark.read.coordinator

import java.util.concurrent.atomic.AtomicReference

import scala.util.Success

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.jar.WireFormat
import io.github.kinesisspark.read.reader.ReleaseRequest

class WireFormatSpec extends AnyFunSpec with Matchers {
  describe("a request") {
    it("is read by a thread whose class loader doesn't know its class") {
      val request = ReleaseRequest("source")
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
      Reply.read[String](Reply.of(Some("answer"))) shouldBe Success(Some("answer"))
      Reply.read[String](Reply.of(None)) shouldBe Success(None)
    }

    def failure(cause: => Throwable) = Reply.read[String](Reply.of(throw cause)).failed.get

    it("fails with what was thrown in the executor, an Error too, and throws nothing itself") {
      failure(new KinesisException("CLASS", "text")) should matchPattern {
        case e: KinesisException if e.errorClass == "CLASS" =>
      }
      failure(new OutOfMemoryError("text")) shouldBe an[OutOfMemoryError]
    }

    it("fails with an exception with the text of a failure that can't be serialized") {
      final class Foreign extends RuntimeException("text") { val thread: Thread = Thread.currentThread }
      failure(new Foreign) shouldBe an[IllegalStateException]
      failure(new Foreign).getMessage should include("text")
    }
  }
}
