package io.github.kinesisspark.aws

import java.time.{DateTimeException, ZonedDateTime}
import java.time.format.DateTimeFormatter

import software.amazon.awssdk.http.SdkHttpResponse

/** The service's clock, as its answers tell it in the `Date` header (to the second). Times that go back to the service are taken
  * from it, because a driver's clock that is ahead would ask for the future.
  */
object ServiceClock {

  /** Milliseconds since 1970; none where the answer has no date that can be read. */
  def of(response: SdkHttpResponse): Option[Long] =
    Option(response).flatMap(r => Option(r.firstMatchingHeader("Date").orElse(null))).flatMap { date =>
      try Some(ZonedDateTime.parse(date, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant.toEpochMilli)
      catch { case _: DateTimeException => None }
    }
}
