package io.github.kinesisspark.aws

import java.util.concurrent.{CountDownLatch, ExecutionException, TimeUnit}
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, AwsCredentials, AwsCredentialsProvider}
import software.amazon.awssdk.identity.spi.ResolveIdentityRequest

/** Credentials that are resolved beside the threads that make calls. */
class CredentialsOffThreadSpec extends AnyFunSpec with Matchers {
  private val keys    = AwsBasicCredentials.create("id", "secret")
  private val request = ResolveIdentityRequest.builder.build

  private final class Slow(result: () => AwsCredentials) extends AwsCredentialsProvider {
    val release = new CountDownLatch(1)
    val asked   = new AtomicInteger
    val thread  = new AtomicReference[Thread]

    override def resolveCredentials(): AwsCredentials = {
      asked.incrementAndGet()
      thread.set(Thread.currentThread)
      release.await(60, TimeUnit.SECONDS)
      result()
    }
  }

  describe("credentials of a slow provider") {
    it("are resolved on another thread, once for all calls that wait for them") {
      val slow    = new Slow(() => keys)
      val off     = new CredentialsOffThread(slow)
      val waiting = Seq.fill(100)(off.resolveIdentity(request))
      waiting.exists(_.isDone) shouldBe false
      slow.release.countDown()
      waiting.foreach(_.get(60, TimeUnit.SECONDS) shouldBe keys)
      slow.asked.get shouldBe 1
      slow.thread.get should not be Thread.currentThread
      off.resolveIdentity(request).get(60, TimeUnit.SECONDS) shouldBe keys
      slow.asked.get shouldBe 2
    }

    it("fail with the provider's error, also an Error, and are resolved anew by the next call") {
      val slow = new Slow(() => throw new LinkageError("no such class"))
      val off  = new CredentialsOffThread(slow)
      slow.release.countDown()
      for (_ <- 1 to 2) {
        val failure = the[ExecutionException] thrownBy off.resolveIdentity(request).get(60, TimeUnit.SECONDS)
        failure.getCause shouldBe a[LinkageError]
      }
      slow.asked.get shouldBe 2
    }
  }
}
