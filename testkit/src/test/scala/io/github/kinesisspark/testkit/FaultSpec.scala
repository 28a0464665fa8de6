package io.github.kinesisspark.testkit

import org.scalatest.BeforeAndAfterEach
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.http.Protocol
import software.amazon.awssdk.services.kinesis.model._

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Tests the effect of fault rules on calls of an SDK client. */
class FaultSpec extends ServerSpec with BeforeAndAfterEach {
  import Clients._

  override protected def config: KinesisServerConfig = KinesisServerConfig(tlsPort = Some(0))

  override protected def beforeEach(): Unit = server.faults.clear()

  private def once(effect: FaultEffect, action: String): Unit =
    server.faults.add(FaultRule(effect, action = Some(action), occurrence = Occurrence.First(1)))

  it("ServiceCode answers one call with that error, and is counted") {
    val stream = newStream(1)
    once(FaultEffect.ServiceCode("KMSThrottlingException", "slow down"), "PutRecord")
    val error = the[KmsThrottlingException] thrownBy kinesis.put(stream, "k", "d")
    error.awsErrorDetails.errorMessage shouldBe "slow down"
    kinesis.put(stream, "k", "d")
    server.streams.recordCount(stream) shouldBe 1
    server.faults.list.map(c => (c.matched, c.struck)) shouldBe Vector((2, 1))
  }

  it("HttpStatus answers with a bare status") {
    val stream = newStream(1)
    once(FaultEffect.HttpStatus(503), "PutRecord")
    (the[KinesisException] thrownBy kinesis.put(stream, "k", "d")).statusCode shouldBe 503
  }

  it("Delay delays the answer") {
    val stream = newStream(1)
    once(FaultEffect.Delay(120.millis), "PutRecord")
    val began = System.nanoTime
    kinesis.put(stream, "k", "d")
    (System.nanoTime - began) / 1000000 should be >= 120L
  }

  for {
    (name, endpoint) <- Seq[(String, () => java.net.URI)](
      "cleartext" -> (() => server.endpoint),
      "TLS"       -> (() => server.tlsEndpoint.get)
    )
    protocol <- Seq(Protocol.HTTP1_1, Protocol.HTTP2)
  } it(s"Reset breaks the connection before, after and inside a call over $name $protocol") {
    val sdk    = closing(client(endpoint(), protocol))
    val stream = newStream(1)
    once(FaultEffect.Reset(ResetPoint.BeforeCall), "PutRecord")
    an[SdkClientException] should be thrownBy sdk.put(stream, "k", "lost")
    server.faults.clear()
    once(FaultEffect.Reset(ResetPoint.AfterCall), "PutRecord")
    an[SdkClientException] should be thrownBy sdk.put(stream, "k", "stored")
    server.faults.clear()
    once(FaultEffect.Reset(ResetPoint.InsideBody), "GetRecords")
    val iterator = sdk.iterator(stream, shardId(0))
    an[SdkClientException] should be thrownBy sdk.get(iterator)
    sdk.get(iterator).records.asScala.map(_.data.asUtf8String) shouldBe Vector("stored")
  }

  it("a PutRecord retried after Reset(AfterCall) is stored twice") {
    val sdk    = closing(client(server.endpoint, retry = true))
    val stream = newStream(1)
    once(FaultEffect.Reset(ResetPoint.AfterCall), "PutRecord")
    sdk.put(stream, "k", "twice")
    sdk.readAll(stream, shardId(0)) shouldBe Vector("twice", "twice")
  }

  it("TruncatedBody and GarbageBody fail a call, and the next one succeeds") {
    val stream = newStream(1)
    server.streams.put(stream, "k", "data")
    val iterator = kinesis.iterator(stream, shardId(0))
    Seq(FaultEffect.TruncatedBody, FaultEffect.GarbageBody).foreach { effect =>
      once(effect, "GetRecords")
      an[Exception] should be thrownBy kinesis.get(iterator)
      server.faults.clear()
    }
    kinesis.get(iterator).records should have size 1
  }

  it("RefuseEntries refuses a share of PutRecords entries, of one shard if given") {
    val stream = newStream(2)
    server.faults.add(FaultRule(FaultEffect.RefuseEntries(1.0), shard = Some(shardId(1)), action = Some("PutRecords")))
    val answer = kinesis.putAll(stream, Vector.tabulate(100)(i => s"$i" -> "d"))
    answer.records.asScala.flatMap(r => Option(r.shardId)).distinct shouldBe Vector(shardId(0))
    answer.failedRecordCount shouldBe answer.records.asScala.count(
      _.errorCode == "ProvisionedThroughputExceededException"
    )
    answer.failedRecordCount.intValue should (be > 0 and be < 100)
    server.faults.clear()
    server.faults.add(FaultRule(FaultEffect.RefuseEntries(0.5, "InternalFailure")))
    val half = kinesis.putAll(stream, Vector.tabulate(400)(i => s"$i" -> "d"))
    half.failedRecordCount.intValue should (be > 150 and be < 250)
    half.records.asScala.flatMap(r => Option(r.errorCode)).distinct shouldBe Vector("InternalFailure")
  }

  it("EmptyAnswer returns no records, and the next GetRecords returns them") {
    val stream = newStream(1)
    server.streams.put(stream, "k", "data")
    once(FaultEffect.EmptyAnswer(5000), "GetRecords")
    val empty = kinesis.get(kinesis.iterator(stream, shardId(0)))
    empty.records shouldBe empty.records.subList(0, 0)
    empty.millisBehindLatest shouldBe 5000
    kinesis.get(empty.nextShardIterator).records should have size 1
  }

  it("a rule for one shard applies to its reads and leaves out other shards") {
    val stream = newStream(2)
    server.faults.add(
      FaultRule(
        FaultEffect.ServiceCode("InternalFailure", status = 500),
        stream = Some(stream),
        shard = Some(shardId(1))
      )
    )
    kinesis.readAll(stream, shardId(0)) shouldBe empty
    (the[KinesisException] thrownBy kinesis.iterator(stream, shardId(1))).statusCode shouldBe 500
  }
}
