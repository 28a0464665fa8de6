package io.github.kinesisspark.write.send

import java.io.{EOFException, IOException}
import java.net.{ConnectException, SocketTimeoutException, UnknownHostException}
import javax.net.ssl.SSLHandshakeException

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.scalatest.OptionValues
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import software.amazon.awssdk.awscore.exception.AwsErrorDetails
import software.amazon.awssdk.core.exception.SdkClientException
import software.amazon.awssdk.services.kinesis.model.{
  AccessDeniedException,
  InternalFailureException,
  InvalidArgumentException,
  KinesisException => SdkKinesisException,
  KmsThrottlingException,
  LimitExceededException,
  ResourceInUseException,
  ResourceNotFoundException
}

import io.github.kinesisspark.aws.{CredentialsTimeout, DamagedAnswer, Fault, FaultTable, KinesisException, RetryPolicy}
import io.github.kinesisspark.config.{CallRetries, SinkOptions, StreamRef}
import io.github.kinesisspark.write.send.CallAnswer._
import io.github.kinesisspark.write.send.RecordAnswer._
import io.github.kinesisspark.write.send.Sending.Outgoing

/** Tests which calls the sink's sender makes next, case by case. */
class SendingSpec extends AnyFunSpec with Matchers with OptionValues {
  private val events   = StreamRef.ByName("events")
  private val settings =
    SendSettings(ordered = false, bufferSize = 64L << 20, maxCalls = 4, CallRetries.default.within(1.minute))
  private val error = new IllegalStateException("no such host")

  /** As the classifier has it, with an error to recognize. */
  private def failed(cause: Throwable, hasWorked: Boolean = true) =
    ServiceModel.failed(cause, hasWorked).copy(error = error)

  private val shard = ServiceModel.shardId(0)
  private val other = ServiceModel.shardId(1)

  private def entry(row: Int, key: String, size: Int = 10) =
    new Entry(events, key, None, new Array[Byte](size), RowId("run", 0, row.toLong))

  private def entries(count: Int, size: Int = 10) = Vector.tabulate(count)(n => entry(n, s"key-$n", size))

  private def holding(entries: Seq[Entry], as: SendSettings = settings) = Sending(as).add(entries.toVector)

  /** All calls that can be made now. */
  private def sent(from: Sending, now: Long = 0, flush: Boolean = true): (Sending, Vector[Outgoing]) = {
    val (next, call) = from.next(now, flush)
    call.fold((next, Vector.empty[Outgoing])) { c =>
      val (last, rest) = sent(next, now, flush)
      (last, c +: rest)
    }
  }

  /** The only call that can be made now. */
  private def sentOne(from: Sending, now: Long = 0, flush: Boolean = true): (Sending, Outgoing) = {
    val (next, calls) = sent(from, now, flush)
    calls should have size 1
    (next, calls.head)
  }

  private def answered(from: Sending, call: Outgoing, answer: CallAnswer, now: Long = 0): Sending =
    from.answered(call.call, answer, now, chance = 0.5).fold(end => fail(end.toString), _.next)

  private def rateExceeded(shard: String) =
    Refused(Refused.Throttling, s"Rate exceeded for shard $shard in stream events.")

  private def rows(call: Outgoing) = call.entries.map(_.row.row)

  describe("PutRecords calls") {
    it("are sent when full, and the rest at the flush") {
      val (some, full) = sent(holding(entries(1200)), flush = false)
      full.map(_.entries.size) shouldBe Vector(500, 500)
      sent(some)._2.map(_.entries.size) shouldBe Vector(200)
    }

    it("hold at most 10 MiB with keys") {
      val (_, calls) = sent(holding(entries(11, (1 << 20) - 10)))
      calls.map(_.entries.size) shouldBe Vector(10, 1)
      calls.head.entries.map(_.size).sum should be <= (10 << 20)
    }

    it("hold at most 5 MiB after a larger one was refused as invalid, and repeat all of its records") {
      val (first, call) = sentOne(holding(entries(9, 1_000_000)))
      val (_, calls)    = sent(answered(first, call, failed(InvalidArgumentException.builder.build)))
      calls.flatMap(rows) shouldBe (0 to 8)
      calls.foreach(_.entries.map(_.size.toLong).sum should be <= (5L << 20))
    }

    it("hold a record alone if it is larger than any the stream has taken so far") {
      val large         = Vector(entry(0, "a"), entry(1, "b", 2 << 20), entry(2, "c"), entry(3, "d", 2 << 20))
      val (next, calls) = sent(holding(large))
      calls.map(rows) shouldBe Vector(Vector(0), Vector(1), Vector(2), Vector(3))
      val known = answered(next, calls(1), PerRecord(Vector(Taken(shard))))
      sent(known.add(large))._2.map(rows) shouldBe Vector(Vector(0, 1, 2, 3))
    }

    it("are limited to maxInFlightCalls at once") {
      sent(holding(entries(5000)))._2.size shouldBe settings.maxCalls
    }

    it("of several streams alternate") {
      val streams = Vector("a", "b", "c").map(StreamRef.ByName(_))
      val mixed   = streams.flatMap(s => Vector.fill(1000)(new Entry(s, "k", None, Array[Byte](1), RowId("run", 0, 0))))
      sent(holding(mixed))._2.take(3).map(_.stream).toSet shouldBe streams.toSet
    }
  }

  describe("a refused record") {
    it("is resent alone after a wait") {
      val (first, call) = sentOne(holding(entries(3)))
      val answer        = PerRecord(Vector(Taken(shard), rateExceeded(other), Taken(shard)))
      val after         = answered(first, call, answer)
      sent(after)._2 shouldBe empty
      val due = after.wakeAt(pressed = true).value
      due should be > 0L
      sent(after, due)._2.map(rows) shouldBe Vector(Vector(1))
    }

    it("delays records of its shard and not those of other shards") {
      val all               = entries(400)
      val (first, call)     = sentOne(holding(all))
      def shardOf(e: Entry) = if (e.hashKey < (BigInt(1) << 127)) shard else other
      val answer            = PerRecord(all.map(e => if (shardOf(e) == shard) Taken(shard) else rateExceeded(other)))
      val after             = answered(first, call, answer)
      val more              = after.add((400 until 800).map(n => entry(n, s"key-$n")).toVector)
      val (_, next)         = sentOne(more)
      // Keys outside of what was seen of either shard have yet to show where they go.
      next.entries.count(e => shardOf(e) == other) should be < 10
      next.entries.size should be > 150
    }

    it("waits longer each time, also where no limit of its shard is the reason") {
      val failure = Refused("InternalFailure", "Internal service failure.")
      def waits(before: Sending, now: Long, times: Int): Vector[Long] = if (times == 0) Vector.empty
      else {
        val (next, call) = sentOne(before, now)
        val after        = answered(next, call, PerRecord(Vector(failure)), now)
        val due          = after.wakeAt(pressed = true).value
        (due - now) +: waits(after, due, times - 1)
      }
      val all = waits(holding(entries(1)), now = 0, times = 10)
      all.head should be <= 100L
      all.last should be >= 2000L
    }

    it("fails the task after maxRetryDuration, with shard, error code and number of attempts") {
      val (first, call) = sentOne(holding(entries(1)))
      val after         = answered(first, call, PerRecord(Vector(rateExceeded(shard))))
      val (again, next) = sentOne(after, now = 59_000)
      val (last, third) = sentOne(answered(again, next, PerRecord(Vector(rateExceeded(shard))), 59_000), 65_000)
      last.answered(third.call, PerRecord(Vector(rateExceeded(shard))), 65_000, 0.5) should matchPattern {
        case Left(SendFailure.Refused(PendingRecord(_, _, 3, _), 65_000, `shard`, Refused.Throttling, _)) =>
      }
    }
  }

  describe("a record that is refused again after maxRetryDuration") {
    it("fails the task at its third try, and not before, as slow rows may have kept it waiting") {
      val refusal         = PerRecord(Vector(rateExceeded(shard)))
      val (first, call)   = sentOne(holding(entries(1)))
      val (again, second) = sentOne(answered(first, call, refusal), now = 1_200_000)
      val (last, third)   = sentOne(answered(again, second, refusal, 1_200_000), now = 1_210_000)
      last.answered(third.call, refusal, 1_210_000, 0.5) should matchPattern {
        case Left(SendFailure.Refused(PendingRecord(_, _, 3, _), 1_210_000, `shard`, Refused.Throttling, _)) =>
      }
    }
  }

  describe("a call that fails as a whole") {
    it("is repeated with all its records after a wait, if the failure is transient") {
      val (first, call) = sentOne(holding(entries(3)))
      val after         = answered(first, call, failed(LimitExceededException.builder.build))
      after.totals.throttled shouldBe 3
      sent(after)._2 shouldBe empty
      sent(after, after.wakeAt(pressed = true).value)._2.map(rows) shouldBe Vector(Vector(0, 1, 2))
    }

    it("is repeated after its wait, also if a call that was made before it failed is taken meanwhile") {
      val (first, calls) = sent(holding(entries(1000)))
      val broken         = answered(first, calls(0), failed(InternalFailureException.builder.build))
      val after          = answered(broken, calls(1), PerRecord(Vector.fill(500)(Taken(shard))))
      sent(after)._2 shouldBe empty
      sentOne(after, after.wakeAt(pressed = true).value)._2.entries should have size 500
    }

    describe("of each error class that is retried") {
      def refused(code: String, status: Int = 400, service: String = "Kinesis") = SdkKinesisException.builder
        .statusCode(status)
        .awsErrorDetails(AwsErrorDetails.builder.errorCode(code).serviceName(service).build)
        .build
      def sdk(message: String)                      = SdkClientException.builder.message(message).build
      def ours(errorClass: String, message: String) = new KinesisException(errorClass, message)

      val mayBeStored = Seq[(String, Throwable)](
        "KINESIS_CONNECTION_LOST"   -> new EOFException,
        "KINESIS_CONNECTION_LOST"   -> sdk("Unable to execute HTTP request: nobody knows why"),
        "KINESIS_CONNECTION_LOST"   -> sdk("Unable to unmarshall response"),
        "KINESIS_CONNECTION_ENDING" -> new GoAwayException,
        "KINESIS_ANSWER_DAMAGED"    -> new DamagedAnswer("It has no Records"),
        "KINESIS_TIMED_OUT"         -> new SocketTimeoutException,
        "KINESIS_TIMED_OUT"         -> refused("", 408),
        "KINESIS_UNAVAILABLE"       -> InternalFailureException.builder.build,
        "KINESIS_UNAVAILABLE"       -> refused("", 503)
      )
      val notStored = Seq[(String, Throwable)](
        "KINESIS_UNKNOWN_HOST"          -> new UnknownHostException("nowhere"),
        "KINESIS_UNREACHABLE"           -> new ConnectException,
        "KINESIS_TLS_FAILED"            -> new SSLHandshakeException("no handshake"),
        "KINESIS_PROXY_FAILED"          -> new IOException("Could not connect to proxy"),
        "KINESIS_CONNECTIONS_EXHAUSTED" -> sdk("Acquire operation took longer than the configured maximum time"),
        "KINESIS_NO_CREDENTIALS"        -> sdk("Unable to load credentials"),
        "KINESIS_CREDENTIALS_TIMED_OUT" -> new CredentialsTimeout("profile 'dev'", 30.seconds),
        "KINESIS_CREDENTIALS_PROVIDER"  -> ours(
          "KINESIS_CREDENTIALS_PROVIDER",
          "get() failed: java.io.IOException: down"
        ),
        "KINESIS_CREDENTIALS_ALIAS"     -> ours("KINESIS_CREDENTIALS_ALIAS", "No file system"),
        "KINESIS_CREDENTIALS_THROTTLED" -> refused("Throttling", service = "Sts"),
        "KINESIS_ROLE_REFUSED"          -> refused("IDPCommunicationError", service = "Sts"),
        "KINESIS_CREDENTIALS_EXPIRED"   -> refused("ExpiredTokenException"),
        "KINESIS_CLOCK_SKEW"            -> refused("RequestExpired"),
        "KINESIS_KMS_THROTTLED"         -> KmsThrottlingException.builder.build,
        "KINESIS_THROTTLED"             -> LimitExceededException.builder.build,
        "KINESIS_RESOURCE_IN_USE"       -> ResourceInUseException.builder.build,
        "KINESIS_NOT_FOUND"             -> ResourceNotFoundException.builder.build
      )

      it("counts its records as possible duplicates if the service may have stored them, and not if it can't have") {
        for {
          (failures, duplicates) <- Seq(mayBeStored -> 3, notStored -> 0)
          (errorClass, failure)  <- failures
        } withClue(s"$errorClass: ") {
          val (first, call) = sentOne(holding(entries(3)))
          val answer        = failed(failure)
          answer.fault.kind.errorClass shouldBe errorClass
          answered(first, call, answer).totals.possibleDuplicates shouldBe duplicates
        }
      }

      it("is in this test") {
        val retried = FaultTable.rows.map(row => row.fault(row.kind, error)).collect {
          case fault @ (_: Fault.Throttled | _: Fault.ResourceInUse | _: Fault.Disconnected | _: Fault.Transient |
              _: Fault.Suspect | _: Fault.NotFound) =>
            fault.kind.errorClass
        }
        (mayBeStored ++ notStored).map(_._1) should contain allElementsOf retried
      }
    }

    it("causes one warning after repeated failures") {
      val worries = Iterator
        .iterate((holding(entries(3)), 0)) { case (state, _) =>
          val now       = state.wakeAt(pressed = true).fold(0L)(_.max(0))
          val (s, call) = sent(state, now)
          val step      = s.answered(call.head.call, failed(InternalFailureException.builder.build), now, 0.5)
          (step.toOption.value.next, step.toOption.value.worry.size)
        }
        .slice(1, 2 * Pause.Worrying)
        .map(_._2)
        .toVector
      worries.indexOf(1) shouldBe Pause.Worrying - 1
      worries.sum shouldBe 1
    }

    it("fails the task after putRecords.maxRetries failures in a row, and refusals by a limit don't count") {
      val options =
        Map("putRecords.maxRetries" -> "2", "putRecords.backoff.base" -> "7ms", "putRecords.backoff.max" -> "9ms")
      val some   = settings.copy(retries = SinkOptions.parse(options).client.retries)
      val limit  = LimitExceededException.builder.build
      val broken = InternalFailureException.builder.build
      @tailrec def fail(state: Sending, now: Long, causes: Seq[Throwable]): Either[SendFailure, Long] = {
        val (s, call) = sentOne(state, now)
        s.answered(call.call, failed(causes.head), now, 0.99) match {
          case Right(step) if causes.sizeIs > 1 => fail(step.next, step.next.wakeAt(pressed = true).value, causes.tail)
          case Right(_)                         => Right(now)
          case Left(failure)                    => Left(failure)
        }
      }
      val first = holding(entries(3), some)
      fail(first, 0, Seq(broken, limit, limit, broken)) shouldBe Right(6 + 8 + 8)
      fail(first, 0, Seq(broken, limit, broken, broken)) shouldBe Left(SendFailure.Fatal(error))
    }

    it("fails the task at once if a retry cannot help") {
      val (first, call) = sentOne(holding(entries(3)))
      first.answered(call.call, failed(AccessDeniedException.builder.build), 0, 0.5) shouldBe Left(
        SendFailure.Fatal(error)
      )
    }

    describe("because the service does not find the stream") {
      val notFound = failed(ResourceNotFoundException.builder.build)

      /** Until the task fails: each call with its time. */
      def attempts(settings: SendSettings) = {
        @tailrec def attempt(state: Sending, times: Vector[Long]): Vector[Long] = {
          val now       = state.wakeAt(pressed = true).value.max(0)
          val (s, call) = sentOne(state, now)
          s.answered(call.call, notFound, now, 0.5) match {
            case Right(step)   => attempt(step.next, times :+ now)
            case Left(failure) =>
              failure shouldBe SendFailure.Fatal(error)
              times :+ now
          }
        }
        attempt(holding(entries(3), settings), Vector.empty)
      }

      it("is repeated, as the stream may have been created a moment ago") {
        val (first, call) = sentOne(holding(entries(3)))
        val after         = answered(first, call, notFound)
        val (last, again) = sentOne(after, after.wakeAt(pressed = true).value)
        rows(again) shouldBe Vector(0, 1, 2)
        answered(last, again, PerRecord(Vector.fill(3)(Taken(shard)))).isEmpty shouldBe true
      }

      it("fails the task after some attempts and seconds, also if the client has worked") {
        val times = attempts(settings)
        times should have size (RetryPolicy.SuspectRetries + 1)
        times.last should be <= 4_000L
      }

      it("fails the task after putRecords.maxRetries attempts, if they are fewer") {
        val options = SinkOptions.parse(Map("putRecords.maxRetries" -> "1"))
        attempts(settings.copy(retries = options.client.retries)) should have size 2
      }
    }

    it("fails the task after some attempts if it looks like a mistake, counting concurrent calls once") {
      val (first, calls) = sent(holding(entries(2000)))
      val together       =
        calls.foldLeft(first)((s, c) => answered(s, c, failed(new UnknownHostException("nowhere"), hasWorked = false)))
      val attempts = RetryPolicy.SuspectRetries + 1
      val last     = (1 until attempts).foldLeft(together) { (state, n) =>
        val now        = n * 11_000L
        val (s, calls) = sent(state, now)
        if (n < attempts - 1)
          calls.foldLeft(s)((s, c) =>
            answered(s, c, failed(new UnknownHostException("nowhere"), hasWorked = false), now)
          )
        else {
          s.answered(
            calls.head.call,
            failed(new UnknownHostException("nowhere"), hasWorked = false),
            now,
            0.5
          ) shouldBe Left(SendFailure.Fatal(error))
          s
        }
      }
      last.totals.records shouldBe 0
    }

    it("is repeated without limit if it looks like a mistake but the client has worked") {
      val last = (0 to 20).foldLeft(holding(entries(3))) { (state, n) =>
        val (s, calls) = sent(state, n * 11_000L)
        answered(s, calls.head, failed(new UnknownHostException("nowhere")), n * 1_000L)
      }
      last.totals.calls shouldBe 21
    }

    it("reports a single record as bad if it is too large for the stream, and sends the others") {
      val (first, calls) = sent(holding(Vector(entry(0, "a", 2 << 20), entry(1, "b"))))
      val step           = first.answered(calls.head.call, failed(InvalidArgumentException.builder.build), 0, 0.5)
      val found          = step.toOption.value
      found.bad.value.entry.row.row shouldBe 0
      answered(found.next, calls(1), PerRecord(Vector(Taken(shard)))).isEmpty shouldBe true
    }

    it("fails the task if it is refused as invalid without a known reason") {
      val (first, call) = sentOne(holding(entries(3)))
      first.answered(call.call, failed(InvalidArgumentException.builder.build), 0, 0.5) shouldBe Left(
        SendFailure.Fatal(error)
      )
    }
  }

  describe("sending in order") {
    val ordered = settings.copy(ordered = true)

    it("puts one record per key into a call, and the next after the first was taken") {
      val entries       = Vector(entry(0, "a"), entry(1, "b"), entry(2, "a"), entry(3, "b"), entry(4, "c"))
      val (first, call) = sentOne(holding(entries, ordered))
      rows(call) shouldBe Vector(0, 1, 4)
      val after = answered(first, call, PerRecord(Vector(Taken(shard), rateExceeded(other), Taken(shard))))
      sent(after)._2.map(rows) shouldBe Vector(Vector(2))
    }

    it("sends rows of few keys without waiting for full calls") {
      val few       = Vector.tabulate(1000)(n => entry(n, s"key-${n % 3}"))
      val (_, call) = sentOne(holding(few, ordered), flush = false)
      rows(call) shouldBe Vector(0, 1, 2)
    }
  }

  describe("a shard that was throttled by other writers for a minute") {
    it("regains its quota within two seconds, and eight times that within five") {
      val entry1    = entry(0, "a")
      val throttled = (0 until 200).foldLeft(ShardThrottle(0))((throttle, _) =>
        throttle.take(PendingRecord(entry1)).depart(0).returned(0, 1, isClean = false)
      )
      throttled.share should be < 0.05

      /** Seconds of turns until the throttle has this share. */
      def secondsTo(share: Double) = Iterator
        .iterate((throttled, 0)) { case (throttle, n) =>
          (throttle.take(PendingRecord(entry1)).depart(0).returned(1, 0, isClean = true), n + 1)
        }
        .dropWhile(_._1.share < share)
        .next()
        ._2 * 0.25
      secondsTo(1.0) should be <= 2.0
      secondsTo(8.0) should be <= 5.0
    }
  }

  describe("a task whose rows exceed the shards' quota") {
    it("writes at the shards' quota with few refused records") {
      val random  = new scala.util.Random(7)
      val service = new ServiceModel(random, shards = 2)
      val entries = Vector.tabulate(40_000)(n => entry(n, s"key-$n"))
      var sending = holding(entries)
      var now     = 0L
      while (!sending.isEmpty) {
        val (next, calls) = sent(sending, now)
        val later         = now + 20
        sending = calls.foldLeft(next)((s, c) => answered(s, c, service.put(c.entries, later), later))
        now = math.max(later, if (calls.isEmpty) sending.wakeAt(pressed = true).getOrElse(later) else later)
      }
      service.log.size shouldBe entries.size
      // 20,000 records for each shard at 1,000 a second, plus the second's worth that it begins with.
      now should (be >= 18_000L and be <= 30_000L)
      sending.totals.throttled should be < 12_000L
    }
  }
}

/** By the name of the SDK's own, which is internal. */
private final class GoAwayException extends IOException
