package io.github.kinesisspark.aws

import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite
import software.amazon.awssdk.http.SdkHttpFullResponse

class ServiceClockTest extends AnyFunSuite {

  private def dated(date: String) = SdkHttpFullResponse.builder().statusCode(200).putHeader("date", date).build()

  test("the service's time is read from the Date header in any case of the name") {
    assert(
      ServiceClock
        .of(dated("Sat, 31 Jan 2026 12:00:00 GMT"))
        .contains(Instant.parse("2026-01-31T12:00:00Z").toEpochMilli)
    )
  }

  test("the service's time is unknown without an answer or with a missing or malformed date") {
    assert(ServiceClock.of(null).isEmpty)
    assert(ServiceClock.of(SdkHttpFullResponse.builder().statusCode(200).build()).isEmpty)
    assert(ServiceClock.of(dated("yesterday")).isEmpty)
  }
}
