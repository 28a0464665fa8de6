package io.github.kinesisspark.aws

import java.time.Instant
import java.util.concurrent.CompletableFuture

import scala.collection.mutable
import scala.concurrent.duration._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsCredentialsProvider, AwsSessionCredentials}
import software.amazon.awssdk.identity.spi.ResolveIdentityRequest

import io.github.kinesisspark.runtime.VirtualTime

/** Credentials that are resolved when the test says so, in time that passes when it says so. */
class CredentialsCacheSpec extends AnyFunSpec with Matchers {
  import CredentialsCacheSpec._

  private final class World(patience: FiniteDuration = CredentialsCache.Patience) {
    private val time = new VirtualTime
    import time.runtime

    private val resolutions = mutable.Queue.empty[Runnable]
    private var resolved    = 0

    /** What the provider does besides, at each resolution. */
    var script: () => Unit         = () => ()
    var expires: Option[Instant]   = None
    var whileMade: () => Unit      = () => ()
    var providers, closed          = 0
    val made: mutable.Buffer[Call] = mutable.Buffer.empty

    private final class Provider extends AwsCredentialsProvider with AutoCloseable {
      override def resolveCredentials(): AwsCredentials = {
        resolved += 1
        script()
        val keys = AwsSessionCredentials.builder().accessKeyId(s"key-$resolved").secretAccessKey("s").sessionToken("t")
        expires.foreach(keys.expirationTime(_))
        keys.build()
      }

      override def close(): Unit = closed += 1
    }

    private def make(): Credentials.Provider = {
      whileMade()
      providers += 1
      new Provider
    }

    val cache = new CredentialsCache("profile 'dev'", () => make(), resolutions.enqueue(_): Unit, patience)

    def pass(span: FiniteDuration): Unit = time.pass(span)
    def resolutionsUnderWay: Int         = resolutions.size
    def resolve(): Unit                  = resolutions.dequeue().run()

    /** By the clock of this world. */
    def after(span: FiniteDuration): Instant = Instant.ofEpochMilli(runtime.clock.millis() + span.toMillis)

    /** A call through the cache; it is in `made` once it is made. */
    def call(): CompletableFuture[String] = cache.before { () =>
      val call = Call(cache.resolveIdentity(ResolveIdentityRequest.builder().build()).join().accessKeyId)
      made += call
      call.answer
    }

    def keys: Seq[String] = made.map(_.key).toSeq
  }

  describe("a call") {
    it("waits for the first credentials without its thread, and shares their resolution with other calls") {
      val world = new World
      val calls = Seq.fill(3)(world.call())
      world.resolutionsUnderWay shouldBe 1
      world.made shouldBe empty
      world.resolve()
      world.keys shouldBe Seq.fill(3)("key-1")
      calls.exists(_.isDone) shouldBe false
      world.made.foreach(_.answer.complete("done"))
      calls.map(_.join()) shouldBe Seq.fill(3)("done")
    }

    it("uses credentials of the last second as they are, and older ones while others are resolved") {
      val world = new World
      world.call()
      world.resolve()
      world.pass(999.millis)
      world.call()
      world.resolutionsUnderWay shouldBe 0
      world.pass(1.milli)
      Seq.fill(2)(world.call())
      world.resolutionsUnderWay shouldBe 1
      world.keys shouldBe Seq.fill(4)("key-1")
      world.resolve()
      world.call()
      world.keys.last shouldBe "key-2"
    }

    it("waits for new credentials when the old ones are a minute old, counted from the question for them") {
      val world = new World
      world.script = () => world.pass(20.seconds)
      world.call()
      world.resolve()
      world.pass(40.seconds)
      world.call()
      world.keys shouldBe Seq("key-1")
      world.resolve()
      world.keys shouldBe Seq("key-1", "key-2")
    }

    it("never uses credentials past their expiry") {
      val world = new World
      world.expires = Some(world.after(30.seconds))
      world.call()
      world.resolve()
      world.pass(29.seconds)
      world.call()
      world.pass(2.seconds)
      world.call()
      world.keys shouldBe Seq("key-1", "key-1")
      world.resolve()
      world.keys.last shouldBe "key-2"
    }

    it("is made with credentials that never expire, or do in the year 9999") {
      for (never <- Seq(Instant.MAX, Instant.parse("9999-12-31T23:59:59Z"))) {
        val world = new World
        world.expires = Some(never)
        world.call()
        world.resolve()
        world.pass(59.seconds)
        world.call()
        world.keys shouldBe Seq("key-1", "key-1")
      }
    }

    it("uses credentials that are still good after a refresh has failed, but no longer than a minute") {
      val world = new World
      world.call()
      world.resolve()
      world.script = () => throw new IllegalStateException("down")
      world.pass(30.seconds)
      world.call()
      world.resolve()
      world.pass(1.second)
      world.call()
      world.keys shouldBe Seq.fill(3)("key-1")
      world.resolve()
      world.pass(30.seconds)
      val late = world.call()
      world.resolve()
      late.isCompletedExceptionally shouldBe true
    }

    it("fails with an Error of the provider at once, while the credentials resolved before would still be good") {
      // A class of the user's is called by reflection, so its Error is a cause.
      val error = new OutOfMemoryError("as planned")
      for (thrown <- Seq(error, new IllegalStateException("get() failed", error))) {
        val world = new World
        world.call()
        world.resolve()
        world.script = () => throw thrown
        world.pass(30.seconds)
        world.call()
        world.resolve()
        world.pass(1.second)
        val failed = world.call()
        world.resolve()
        failed.isCompletedExceptionally shouldBe true
      }
    }

    it("fails with the provider's failure, of any kind, and the next call resolves again") {
      for (failure <- Seq(new IllegalStateException("down"), new NoClassDefFoundError("gone"))) {
        val world = new World
        world.script = () => throw failure
        val first = world.call()
        world.resolve()
        FaultClassifier.causes(the[Throwable] thrownBy first.join()) should contain(failure)
        world.script = () => ()
        world.pass(1.second)
        world.call()
        world.resolve()
        world.keys shouldBe Seq("key-2")
      }
    }

    it("that comes within a second of a failure waits with others for one resolution, which begins then") {
      val world = new World
      world.script = () => throw new IllegalStateException("down")
      world.call()
      world.resolve()
      world.script = () => ()
      val calls = Seq.fill(50) {
        val call = world.call()
        world.pass(10.millis)
        call
      }
      world.pass(499.millis)
      world.resolutionsUnderWay shouldBe 0
      calls.exists(_.isDone) shouldBe false
      world.pass(1.milli)
      world.resolutionsUnderWay shouldBe 1
      world.resolve()
      world.keys shouldBe Seq.fill(50)("key-2")
    }

    it(
      "fails with the credentials' name when they don't come in time, while the next call waits for the same resolution"
    ) {
      val world = new World
      val first = world.call()
      world.pass(CredentialsCache.Patience - 1.milli)
      first.isDone shouldBe false
      world.pass(1.milli)
      the[Exception] thrownBy first.getNow("none") should have message
        s"${classOf[CredentialsTimeout].getName}: profile 'dev' gave no credentials within 30 s"
      world.call()
      world.resolutionsUnderWay shouldBe 1
      world.resolve()
      world.keys shouldBe Seq("key-1")
    }

    it(
      "makes another provider when a resolution takes longer than five minutes, and closes the first when it returns"
    ) {
      val world = new World(patience = 10.minutes)
      world.script = () => {
        world.script = () => ()
        world.pass(5.minutes + 1.milli)
        world.call()
        world.closed shouldBe 0
      }
      world.call()
      world.resolve()
      (world.providers, world.closed) shouldBe ((1, 1))
      world.resolve()
      (world.providers, world.closed) shouldBe ((2, 1))
      world.keys shouldBe Seq("key-1", "key-2")
    }

    it("is not made if it is cancelled while it waits, and is cancelled itself later") {
      val world         = new World
      val Seq(one, two) = Seq.fill(2)(world.call()): @unchecked
      one.cancel(true)
      world.resolve()
      world.made should have size 1
      two.cancel(true)
      world.made.head.answer.isCompletedExceptionally shouldBe true
    }

    it("fails if it throws after it has waited") {
      val world  = new World
      val failed = world.cache.before[String](() => throw new IllegalArgumentException("no"))
      world.resolve()
      failed.isCompletedExceptionally shouldBe true
    }
  }

  describe("a cache") {
    it("makes its provider at the first call, on the provider's thread, and again at the next call if that failed") {
      val world = new World
      world.whileMade = () => throw new IllegalStateException("down")
      val failed = world.call()
      failed.isDone shouldBe false
      world.resolve()
      failed.isCompletedExceptionally shouldBe true
      world.whileMade = () => ()
      for (_ <- 1 to 2) {
        world.pass(1.second)
        world.call()
        world.resolve()
      }
      world.providers shouldBe 1
    }

    it("takes an expiry that is centuries away, or ago, for what it means") {
      val now = Instant.parse("2026-01-31T08:00:00Z")
      for (never <- Seq(Instant.MAX, Instant.parse("9999-12-31T23:59:59Z")))
        RenewedCredentials.timeLeft(now, never) shouldBe 365.days
      for (long <- Seq(Instant.MIN, Instant.parse("0001-01-01T00:00:00Z")))
        RenewedCredentials.timeLeft(now, long) shouldBe Duration.Zero
    }

    it("closes its provider on the provider's thread, also one that is being made") {
      val used = new World
      used.call()
      used.resolve()
      used.cache.close()
      used.closed shouldBe 0
      used.resolve()
      used.closed shouldBe 1
      val making = new World
      making.whileMade = () => {
        making.cache.close()
        making.resolve()
      }
      making.call()
      making.resolve()
      making.closed shouldBe 1
    }
  }
}

object CredentialsCacheSpec {

  /** @param key it was signed with */
  private final case class Call(key: String, answer: CompletableFuture[String] = new CompletableFuture)
}
