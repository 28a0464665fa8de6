package io.github.kinesisspark.read.reader

import java.net.{ConnectException, UnknownHostException}
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.services.kinesis.model.{GetRecordsRequest, GetRecordsResponse}

/** A polling reader whose endpoint has worked and is gone for a while. */
class PollingOutageSpec extends AnyFunSpec with Matchers with Eventually {
  // Ten pauses with jitter, of at most 5 s each.
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(20, Millis))

  private val Failures = 10

  /** Works once, fails, and works again. */
  private final class Returning(failure: () => Throwable) extends StubKinesis {
    private val calls = new AtomicInteger

    override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
      if ((1 to Failures).contains(calls.getAndIncrement()))
        CompletableFuture.failedFuture(
          SdkClientException.create("Unable to execute HTTP request: as planned", failure())
        )
      else super.getRecords(r)
  }

  describe("a polling reader whose endpoint has worked before") {
    def survives(failure: () => Throwable): Unit =
      Using.resource(new PublisherScene(new Returning(failure))) { scene =>
        val publisher = scene.polling()
        publisher.request()
        eventually(scene.deliveries.size shouldBe 1)
        publisher.request()
        eventually(scene.deliveries.size + scene.failures.size shouldBe 2)
        scene.failures.map(_.getMessage) shouldBe empty
      }

    it("reads on after ten failures to find the host in a row")(
      survives(() => new UnknownHostException("kinesis.test"))
    )

    it("reads on after ten refused connections in a row")(
      survives(() => new ConnectException("Connection refused"))
    )
  }
}
