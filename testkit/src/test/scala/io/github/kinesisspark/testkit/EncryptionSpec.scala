package io.github.kinesisspark.testkit

import software.amazon.awssdk.services.kinesis.model._

import java.time.Duration
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** Tests calls about encryption, and what they show of streams and records. Data are never changed. */
class EncryptionSpec extends SubscriptionSuite {
  import Clients._

  override protected def config: KinesisServerConfig =
    KinesisServerConfig(enforceLimits = true, updateDelay = 3.seconds)

  private val kmsKey = "alias/aws/kinesis"

  private def start(stream: String, keyId: String = kmsKey, kind: String = "KMS"): Unit = {
    await(kinesis.startStreamEncryption { (b: StartStreamEncryptionRequest.Builder) =>
      b.streamName(stream).encryptionType(kind).keyId(keyId); ()
    })
    ()
  }

  private def stop(stream: String): Unit = {
    await(kinesis.stopStreamEncryption { (b: StopStreamEncryptionRequest.Builder) =>
      b.streamName(stream).encryptionType(EncryptionType.KMS).keyId(kmsKey); ()
    })
    ()
  }

  private def active(): Unit = clock.advance(Duration.ofSeconds(3))

  it("a stream is UPDATING after StartStreamEncryption, and shows its type and key until StopStreamEncryption") {
    val stream = newStream(1)
    summary(stream).encryptionType shouldBe EncryptionType.NONE
    summary(stream).keyId shouldBe null
    start(stream)
    summary(stream).streamStatus shouldBe StreamStatus.UPDATING
    a[ResourceInUseException] should be thrownBy stop(stream)
    active()
    summary(stream).encryptionType shouldBe EncryptionType.KMS
    summary(stream).keyId shouldBe kmsKey
    stop(stream)
    active()
    summary(stream).encryptionType shouldBe EncryptionType.NONE
    summary(stream).keyId shouldBe null
  }

  it("a record shows the encryption of the time when it was put, by polling and by subscription") {
    val stream = newStream(1)
    kinesis.put(stream, "k", "before").encryptionType shouldBe null
    start(stream)
    active()
    kinesis.put(stream, "k", "encrypted").encryptionType shouldBe EncryptionType.KMS
    kinesis.putAll(stream, Seq("k" -> "as well")).encryptionType shouldBe EncryptionType.KMS
    stop(stream)
    active()
    kinesis.put(stream, "k", "after").encryptionType shouldBe null
    val shown =
      Seq("before" -> null, "encrypted" -> EncryptionType.KMS, "as well" -> EncryptionType.KMS, "after" -> null)
    def of(records: Iterable[Record]) = records.toSeq.map(r => r.data.asUtf8String -> r.encryptionType)
    of(kinesis.get(kinesis.iterator(stream, shardId(0))).records.asScala) shouldBe shown
    val subscriber = subscribe(consumer(stream))
    of(Iterator.continually(subscriber.event()).flatMap(_.records.asScala).take(4).toSeq) shouldBe shown
    subscriber.cancel()
  }

  it("a type other than KMS, and a call without key, are refused") {
    val stream = newStream(1)
    codeOf(start(stream, kind = "AES")) shouldBe "ValidationException"
    codeOf(start(stream, kind = "NONE")) shouldBe "InvalidArgumentException"
    codeOf(start(stream, keyId = "")) shouldBe "ValidationException"
    codeOf(start("nobody")) shouldBe "ResourceNotFoundException"
  }

  it("a stream gets 25 keys in 24 hours at most") {
    val stream = newStream(1)
    (1 to 25).foreach { n =>
      start(stream, s"key-$n")
      active()
    }
    a[LimitExceededException] should be thrownBy start(stream)
    clock.advance(Duration.ofHours(24))
    start(stream)
  }
}
