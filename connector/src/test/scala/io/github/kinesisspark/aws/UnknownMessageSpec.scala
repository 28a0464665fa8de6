package io.github.kinesisspark.aws

import java.util

import scala.util.Try

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.eventstream.{HeaderValue, Message, MessageDecoder}

import io.github.kinesisspark.AwaitsEngine

class UnknownMessageSpec extends AnyFunSpec with Matchers {
  it(
    "a message of an unknown type in an event stream is ignored or read again, and does not end the query",
    AwaitsEngine
  ) {
    val message = new Message(util.Map.of(":message-type", HeaderValue.fromString("notice")), Array.emptyByteArray)
    val decoded = Try(new MessageDecoder().feed(message.toByteBuffer))
    // The failure is that of the subscription which the message was part of.
    decoded.failed.foreach(FaultClassifier.classifySubscription(_) should not be a[SubscriptionFault.Fatal])
  }
}
