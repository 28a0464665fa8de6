package io.github.kinesisspark.read.catalog

import java.time.{Instant, ZoneOffset}
import java.time.format.DateTimeFormatter
import java.util.concurrent.CompletableFuture

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.{number, shard}
import io.github.kinesisspark.aws.{KinesisException, SilentCalls}
import io.github.kinesisspark.config.CallRetries
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.position.ShardPosition.{AfterSequenceNumber, AtTimestamp, TrimHorizon}
import io.github.kinesisspark.read.reader.StubKinesis
import io.github.kinesisspark.runtime.VirtualTime

class ShardProbesSpec extends AnyFunSpec with Matchers {
  import ShardProbesSpec._

  /** A service that refuses GetRecords for a while, until the iterator has expired. */
  private final class Scene(outage: FiniteDuration, iteratorLife: FiniteDuration) {
    val time = new VirtualTime
    import time.runtime

    private val client = new StubKinesis {
      override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] =
        CompletableFuture.completedFuture(
          GetShardIteratorResponse.builder.shardIterator(time.elapsed.toNanos.toString).build
        )

      override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
        if (time.elapsed - request.shardIterator.toLong.nanos > iteratorLife) CompletableFuture.failedFuture(expired)
        else if (time.elapsed < outage) CompletableFuture.failedFuture(throttled)
        else super.getRecords(request)
    }

    def look(): Probe =
      new ShardProbes(client, SilentCalls.retry(hasWorked = true)).at(shard(0), TrimHorizon, 1)
  }

  describe("a look into a shard whose iterators expire while calls are refused") {
    it("gets a new iterator each time, however often") {
      val scene = new Scene(outage = 10.minutes, iteratorLife = 30.seconds)
      scene.look().records.map(_.number) shouldBe Vector(number(1))
      scene.time.elapsed should (be >= 10.minutes and be < 11.minutes)
    }

    it("fails after maxRetryDuration with the refusal") {
      val scene = new Scene(outage = 1.day, iteratorLife = 5.minutes)
      intercept[KinesisException](scene.look()).errorClass shouldBe "KINESIS_THROTTLED"
      scene.time.elapsed should (be > 14.minutes and be <= 15.minutes)
    }
  }

  describe("a look into a shard whose records come after a gap") {

    /** @param behind by the number of the answer, from 0; records come once it is none
      * @param within `maxRetryDuration`
      */
    def look(within: FiniteDuration)(behind: Int => Option[Long]): (Probe, VirtualTime) = {
      var answers = 0
      val client  = new StubKinesis {
        override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
          val now = behind(answers)
          answers += 1
          now.fold(super.getRecords(request)) { millis =>
            CompletableFuture.completedFuture(
              GetRecordsResponse.builder
                .records(java.util.Collections.emptyList[Record])
                .nextShardIterator("next")
                .millisBehindLatest(millis)
                .build
            )
          }
        }
      }
      val time = new VirtualTime
      import time.runtime
      val calls = SilentCalls.retry(CallRetries.default.within(within), hasWorked = true)
      (new ShardProbes(client, calls).at(shard(0), TrimHorizon, 1), time)
    }

    it("finds them, though the way takes longer than maxRetryDuration") {
      val (probe, time) = look(1.minute)(n => Option.when(n < 1000)(1000000L - n))
      probe.records.map(_.number) shouldBe Vector(number(1))
      time.elapsed should be > 3.minutes
    }

    it("asks a second time whether nothing is there, with a maxRetryDuration of 0, too") {
      look(Duration.Zero)(_ => Some(0))._1.isTip shouldBe true
    }

    it("fails after maxRetryDuration, or a minute where that is more, if it comes no nearer") {
      for (within <- Seq(Duration.Zero, 1.minute, 2.minutes)) {
        val failure = intercept[KinesisException](look(within)(_ => Some(5000)))
        failure.errorClass shouldBe "KINESIS_TIMED_OUT"
        failure.getMessage should include("no nearer to the newest one than 5000 ms")
      }
      // One that says now this and now that.
      intercept[KinesisException](look(1.minute)(n => Some(n % 2 * 1000L))).errorClass shouldBe "KINESIS_TIMED_OUT"
    }
  }

  describe("a look since a time up to which all is read") {
    def look(position: ShardPosition): (Vector[GetShardIteratorRequest], Probe) = {
      var asked  = Vector.empty[GetShardIteratorRequest]
      val client = new StubKinesis {
        override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
          asked :+= request
          super.getShardIterator(request)
        }
      }
      val time = new VirtualTime
      import time.runtime
      val probe =
        new ShardProbes(client, SilentCalls.retry(hasWorked = true)).since(noon.toEpochMilli, shard(0), position, 10)
      (asked, probe)
    }

    it("begins a minute before that time, and leaves out what comes before the position") {
      val (asked, probe) = look(AfterSequenceNumber(number(1)))
      asked.map(_.shardIteratorType) shouldBe Vector(ShardIteratorType.AT_TIMESTAMP)
      asked.map(_.timestamp) shouldBe Vector(noon.minusSeconds(60))
      probe.records.map(_.number) should not contain number(1)
    }

    it("begins at the position where that is later, and at that time in a shard without records") {
      look(AtTimestamp(noon.toEpochMilli))._1.map(_.timestamp) shouldBe Vector(noon)
      look(TrimHorizon)._1.map(_.timestamp) shouldBe Vector(noon.minusSeconds(60))
    }
  }

  describe("the lag of a position") {
    def lag(answer: GetRecordsResponse) = {
      val client = new StubKinesis {
        override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] =
          CompletableFuture.completedFuture(answer)
      }
      val time = new VirtualTime
      import time.runtime
      new ShardProbes(client, SilentCalls.retry(hasWorked = true))
        .millisBehind(shard(0), TrimHorizon)
        .millis
    }

    it("is the age of the shard's last record where that is unread") {
      lag(answered(behind = 0.seconds, 1.hour)) shouldBe 1.hour
    }

    it("is what the service reports where that is more than the record's age") {
      lag(answered(behind = 2.hours)) shouldBe 2.hours
      lag(answered(behind = 2.hours, 1.hour)) shouldBe 2.hours
    }

    it("is never negative") {
      lag(answered(behind = 0.seconds)) shouldBe 0.seconds
      lag(answered(behind = 0.seconds, (-300).millis)) shouldBe 0.seconds
    }
  }
}

private object ShardProbesSpec {
  private val noon = Instant.parse("2026-01-01T12:00:00Z")

  /** An answer of the service at noon.
    *
    * @param ages of its records
    */
  private def answered(behind: FiniteDuration, ages: FiniteDuration*): GetRecordsResponse = {
    val date    = DateTimeFormatter.RFC_1123_DATE_TIME.format(noon.atOffset(ZoneOffset.UTC))
    val records = ages.map(age => Record.builder.approximateArrivalTimestamp(noon.minusMillis(age.toMillis)).build)
    val answer  = GetRecordsResponse.builder.records(records.asJava).millisBehindLatest(behind.toMillis)
    answer.sdkHttpResponse(SdkHttpResponse.builder.statusCode(200).putHeader("Date", date).build)
    answer.build
  }

  private val expired   = ExpiredIteratorException.builder.message("Iterator expired").statusCode(400).build
  private val throttled =
    ProvisionedThroughputExceededException.builder.message("Rate exceeded").statusCode(400).build
}
