package io.github.kinesisspark.position

import org.scalatest.funsuite.AnyFunSuite

class ConsumerArnSpec extends AnyFunSuite {
  private val stream = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"

  test("a consumer ARN yields its stream and name and keeps its text") {
    val arn = ConsumerArn(s"$stream/consumer/my-app_1.x:1525898737")
    assert(arn.stream == StreamArn(stream) && arn.name == "my-app_1.x")
    assert(arn.toString == s"$stream/consumer/my-app_1.x:1525898737")
  }

  test("consumer ARNs of two registrations under one name differ") {
    assert(ConsumerArn(s"$stream/consumer/app:1") != ConsumerArn(s"$stream/consumer/app:2"))
  }

  test("other texts are refused as consumer ARNs") {
    val others = Seq(
      "",
      "app",
      stream,
      s"$stream/consumer/app",
      s"$stream/consumer/app:",
      s"$stream/consumer/a b:1",
      s"$stream/consumer/:1",
      s"$stream/consumer/app:1/x",
      "arn:aws:s3:eu-west-1:000000000000:stream/orders/consumer/app:1"
    )
    others.foreach(text => assert(ConsumerArn.parse(text).isEmpty, text))
    intercept[IllegalArgumentException](ConsumerArn(stream))
  }
}
