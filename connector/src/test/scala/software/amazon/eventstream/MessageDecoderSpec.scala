package software.amazon.eventstream

import java.nio.ByteBuffer
import java.util

import scala.collection.mutable.ListBuffer
import scala.jdk.CollectionConverters._

import org.scalacheck.Gen
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

/** Compares the decoder's messages with those given to the SDK's own encoder. */
class MessageDecoderSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  private val messages: Gen[Message] = for {
    headers <- Gen.mapOfN(3, Gen.zip(Gen.identifier.map(_.take(50)), Gen.identifier.map(HeaderValue.fromString(_))))
    size    <- Gen.frequency(1 -> Gen.const(0), 8 -> Gen.choose(1, 300), 1 -> Gen.choose(1000, 100000))
    byte    <- Gen.choose(0, 127)
  } yield new Message(headers.asJava, Array.fill(size)(byte.toByte))

  private def bytesOf(all: Seq[Message]): Array[Byte] = {
    val encoded = all.map(_.toByteBuffer)
    val out     = ByteBuffer.allocate(encoded.map(_.remaining).sum)
    encoded.foreach(out.put)
    out.array
  }

  private def shown(m: Message) = (m.getHeaders.asScala.toMap, m.getPayload.toVector)

  describe("the decoder of event streams") {
    it("yields every message once and in order, however the bytes are split") {
      forAll(Gen.listOf(messages), Gen.choose(1, 5000), minSuccessful(200)) { (sent, most) =>
        val bytes   = bytesOf(sent)
        val decoder = new MessageDecoder
        val got     = ListBuffer.empty[Message]
        bytes.grouped(most).foreach(part => got ++= decoder.feed(ByteBuffer.wrap(part)).getDecodedMessages().asScala)
        got.toSeq.map(shown) shouldBe sent.map(shown)
        decoder.getDecodedMessages() shouldBe empty
      }
    }

    it("yields all messages if fed byte by byte") {
      val sent    = Seq.fill(3)(new Message(util.Map.of("a", HeaderValue.fromString("b")), Array[Byte](1, 2, 3)))
      val decoder = new MessageDecoder
      bytesOf(sent).foreach(b => decoder.feed(ByteBuffer.wrap(Array(b))))
      decoder.getDecodedMessages().asScala.toSeq.map(shown) shouldBe sent.map(shown)
    }

    it("passes on a message of an unknown type, which the SDK ignores") {
      val message = new Message(util.Map.of(":message-type", HeaderValue.fromString("ping")), Array.emptyByteArray)
      new MessageDecoder().feed(ByteBuffer.wrap(bytesOf(Seq(message)))).getDecodedMessages() should have size 1
    }

    it("fails on a message with any bit flip") {
      val sound = bytesOf(Seq(new Message(util.Map.of("a", HeaderValue.fromString("b")), Array[Byte](1, 2, 3))))
      for (at <- sound.indices) {
        val damaged = sound.updated(at, (sound(at) ^ 1).toByte)
        withClue(s"byte $at: ")(
          an[IllegalArgumentException] should be thrownBy new MessageDecoder().feed(ByteBuffer.wrap(damaged))
        )
      }
    }

    it("takes precedence over the SDK's own class on the class path") {
      val source = classOf[MessageDecoder].getProtectionDomain.getCodeSource.getLocation
      source should not be classOf[Message].getProtectionDomain.getCodeSource.getLocation
    }
  }
}
