package io.github.kinesisspark.aws

import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite
import software.amazon.awssdk.http.SdkHttpFullResponse

class ServiceClockTest extends AnyFunSuite {

  private def dated(date: String) = SdkHttpFullResponse.builder().statusCode(200).putHeader("date", date).build()

  test("the Date header is the clock, whatever the case of its name") {
    assert(
      ServiceClock
        .of(dated("Sat, 31 Jan 2026 12:00:00 GMT"))
        .contains(Instant.parse("2026-01-31T12:00:00Z").toEpochMilli)
    )
  }

  test("no answer, no date or a date that can't be read is no clock") {
    assert(ServiceClock.of(null).isEmpty)
    assert(ServiceClock.of(SdkHttpFullResponse.builder().statusCode(200).build()).isEmpty)
    assert(ServiceClock.of(dated("yesterday")).isEmpty)
  }
}
