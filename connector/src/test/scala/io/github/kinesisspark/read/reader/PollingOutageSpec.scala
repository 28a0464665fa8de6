package io.github.kinesisspark.read.reader

import java.net.{ConnectException, UnknownHostException}
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.services.kinesis.model.{GetRecordsRequest, GetRecordsResponse}

/** A polling reader whose endpoint has worked and is gone for a while. */
class PollingOutageSpec extends AnyFunSpec with Matchers with Eventually with BeforeAndAfterAll {
  // Ten pauses with jitter, of at most 5 s each.
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(20, Millis))

  private val Failures = 10

  /** Works once, fails, and works again. */
  private final class Returning(failure: Throwable) extends StubKinesis {
    private val calls = new AtomicInteger

    override def getRecords(r: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
      if ((1 to Failures).contains(calls.getAndIncrement()))
        CompletableFuture.failedFuture(
          SdkClientException.create("Unable to execute HTTP request: as planned", failure)
        )
      else super.getRecords(r)
  }

  // Each outage lasts a quarter of a minute, so they take place at the same time.
  private val kinds = Map(
    "failures to find the host" -> new UnknownHostException("kinesis.test"),
    "refused connections"       -> new ConnectException("Connection refused")
  )
  private lazy val outages = kinds.map { case (name, failure) => name -> new Outage(failure) }

  private final class Outage(failure: Throwable) {
    val scene             = new PublisherScene(new Returning(failure))
    private val publisher = scene.polling()
    publisher.request()
    eventually(scene.deliveries.size shouldBe 1)
    publisher.request()
  }

  override def afterAll(): Unit = outages.values.foreach(_.scene.close())

  describe("a polling reader whose endpoint has worked before") {
    for (failures <- kinds.keys)
      it(s"reads on after ten $failures in a row") {
        val scene = outages(failures).scene
        eventually(scene.deliveries.size + scene.failures.size shouldBe 2)
        scene.failures.map(_.getMessage) shouldBe empty
      }
  }
}
