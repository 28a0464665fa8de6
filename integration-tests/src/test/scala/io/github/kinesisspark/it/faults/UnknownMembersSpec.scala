package io.github.kinesisspark.it.faults

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery
import software.amazon.eventstream.{HeaderValue, Message}

import io.github.kinesisspark.CapturedLogs
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.KinesisServerConfig

/** Subscriptions whose server sends what Kinesis may send some day: members and messages that nobody knows, and texts in a form that the
  * connector's decoder leaves to the SDK.
  */
final class UnknownMembersSpec extends TestkitSuite(KinesisServerConfig(tlsPort = Some(0))) with CapturedLogs {
  import UnknownMembersSpec._

  override protected def mode: Mode = Mode.FanOut

  /** Reads all records of a query whose events are rewritten.
    *
    * @return what the connector logs
    */
  private def readAll(rewrite: Message => Seq[Message])(check: StreamingQuery => Unit): String = {
    val proxy = new KinesisProxy(kinesis, rewrite = () => rewrite)
    try {
      val stream    = newStream(shards = 2)
      val log       = new BatchLog
      val expected  = put(stream, "first", 50)
      val (_, logs) = withLogs {
        running(load(stream, "endpoint" -> proxy.endpoint.toString), checkpoint())(log.add) { query =>
          eventually(log.texts.sorted shouldBe expected.sorted)
          val more = put(stream, "second", 50)
          eventually(log.texts.sorted shouldBe (expected ++ more).sorted)
          check(query)
          metric(query, "subscriptionsFailed") shouldBe 0L
        }
      }
      inOrder(log)
      logs.linesIterator.filter(_.contains("The AWS SDK decodes")).mkString("\n")
    } finally proxy.close()
  }

  describe("a query by fan-out") {
    it("reads events with unknown members between messages of unknown types as before, without the SDK's decoder") {
      val logged = readAll(withUnknown) { query =>
        metric(query, "readsDecodedBySdk") shouldBe 0L
      }
      logged shouldBe ""
    }

    it("counts the events that the SDK decodes, and logs their cause once") {
      val logged = readAll(message => Seq(withEscapedNames(message))) { query =>
        eventually(metric(query, "readsDecodedBySdk") should be >= 2L)
      }
      logged.linesIterator.toSeq should have size 1
      logged should include("SubscribeToShard")
      logged should include("expected text without escapes")
    }
  }
}

private object UnknownMembersSpec {
  private def payload(message: Message, change: String => String) =
    if (KinesisProxy.isEvent(message))
      new Message(message.getHeaders, change(new String(message.getPayload, UTF_8)).getBytes(UTF_8))
    else message

  private def withUnknown(message: Message) =
    if (!KinesisProxy.isEvent(message)) Seq(message)
    else {
      val future = message.getHeaders.asScala.toMap + (":event-type" -> HeaderValue.fromString("FutureEvent"))
      Seq(new Message(future.asJava, message.getPayload), payload(message, withUnknownMembers))
    }

  private def withUnknownMembers(json: String) = {
    val event = ujson.read(json)
    event("Future") = ujson.Arr(1, ujson.Obj("Records" -> ujson.Arr()))
    event("Records").arr.foreach { record =>
      record("Since") = -1.5e-3
      record("Future") = ujson.Obj("Data" -> "a \"quoted\" text\n", "Flags" -> ujson.Arr(true, ujson.Null))
    }
    ujson.write(event)
  }

  private def withEscapedNames(message: Message) =
    payload(message, _.replace("\"PartitionKey\"", "\"\\u0050artitionKey\""))
}
