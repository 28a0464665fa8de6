package io.github.kinesisspark.it.conformance

import java.time.Instant
import java.time.temporal.ChronoField

import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, TestStream}

/** GetShardIterator: the exact first record of every iterator type. */
trait IteratorScenarios { this: Conformance =>

  private def withFive(body: (TestStream, String, Seq[String]) => Any): Unit = withStream(1) { stream =>
    val numbers = (1 to 5).map(n => stream.put(s"$n").sequenceNumber)
    body(stream, stream.onlyShard().shardId, numbers)
    ()
  }

  /** A shard, and a sequence number of a record in the other one. */
  private def withForeignNumber(body: (TestStream, String, String) => Any): Unit = withStream(2) { stream =>
    val Seq(left, right) = stream.openShards(): @unchecked
    body(stream, right.shardId, stream.putAt(TestStream.startingHash(left), "x").sequenceNumber)
    ()
  }

  private def clockPasses(time: Instant): Unit = {
    eventually(Instant.now.isAfter(time) shouldBe true)
    ()
  }

  private def arrivalOf(stream: TestStream, put: PutRecordResponse): Instant = stream
    .get(stream.at(put.shardId, put.sequenceNumber))
    .records
    .get(0)
    .approximateArrivalTimestamp

  /** Two records (after others of an earlier second), and a time between them that lies in the same second as the first. */
  private def withinASecond(body: (TestStream, String, Instant) => Any): Unit = whileItLasts {
    withStream(1) { stream =>
      val shard = stream.onlyShard().shardId
      Seq("oldest", "older").foreach(stream.put(_))
      clockPasses(Instant.now.plusSeconds(1))
      eventually(Instant.now.get(ChronoField.MILLI_OF_SECOND) should be < 500)
      val arrival = arrivalOf(stream, stream.put("old"))
      arrival.get(ChronoField.MILLI_OF_SECOND) should be < 900
      clockPasses(arrival.plusMillis(100))
      stream.put("new")
      body(stream, shard, arrival.plusMillis(50))
      ()
    }
  }

  private def ask(stream: TestStream, shard: String, kind: ShardIteratorType)(
      more: GetShardIteratorRequest.Builder => Any
  ): Any = service.callOnce(_.getShardIterator { r =>
    more(r.streamName(stream.name).shardId(shard).shardIteratorType(kind)); ()
  })

  protected def iteratorScenarios(): Unit = describe("GetShardIterator") {
    promise("at TRIM_HORIZON starts at the oldest record") {
      withFive((stream, shard, _) => stream.texts(stream.trimHorizon(shard)) shouldBe Seq("1", "2", "3", "4", "5"))
    }

    promise("at LATEST starts after the last record at the time of the call") {
      withFive { (stream, shard, _) =>
        val latest = stream.latest(shard)
        stream.put("6")
        stream.texts(latest) shouldBe Seq("6")
      }
    }

    promise("at AT_SEQUENCE_NUMBER starts with that record") {
      withFive((stream, shard, numbers) => stream.texts(stream.at(shard, numbers(2))) shouldBe Seq("3", "4", "5"))
    }

    promise("at AFTER_SEQUENCE_NUMBER starts with the next record") {
      withFive { (stream, shard, numbers) =>
        stream.texts(stream.after(shard, numbers(2))) shouldBe Seq("4", "5")
        stream.texts(stream.after(shard, numbers.last)) shouldBe empty
      }
    }

    promise("at the shard's starting sequence number starts at the oldest record") {
      withFive { (stream, shard, _) =>
        val start = stream.onlyShard().sequenceNumberRange.startingSequenceNumber
        stream.texts(stream.at(shard, start)) shouldBe Seq("1", "2", "3", "4", "5")
        stream.texts(stream.after(shard, start)) shouldBe Seq("1", "2", "3", "4", "5")
      }
    }

    promise("at AT_TIMESTAMP starts with the first record at or after that time") {
      withStream(1) { stream =>
        val shard = stream.onlyShard().shardId
        // Two, because a position after the very first record has a difference of its own (repeats-the-first-record).
        // Seconds lie between the others, because some servers count whole ones, and because an arrival time may be two
        // seconds early.
        Seq("oldest", "older").foreach(stream.put(_))
        val before = Instant.now
        clockPasses(before.plusMillis(3100))
        val arrival = arrivalOf(stream, stream.put("old"))
        clockPasses(arrival.plusMillis(4100))
        stream.put("new")
        stream.texts(stream.atTimestamp(shard, before.minusSeconds(3600))) shouldBe Seq("oldest", "older", "old", "new")
        stream.texts(stream.atTimestamp(shard, arrival)) shouldBe Seq("old", "new")
        stream.texts(stream.atTimestamp(shard, arrival.plusMillis(1050))) shouldBe Seq("new")
      }
    }

    promise(
      "at AT_TIMESTAMP distinguishes milliseconds",
      Differences.IteratorTimesInSeconds.instead(
        withinASecond((stream, shard, between) =>
          stream.texts(stream.atTimestamp(shard, between)) shouldBe Seq("old", "new")
        )
      )
    ) {
      withinASecond((stream, shard, between) => stream.texts(stream.atTimestamp(shard, between)) shouldBe Seq("new"))
    }

    promise("at a future AT_TIMESTAMP returns no existing record, or is refused") {
      withFive { (stream, shard, _) =>
        // The service has been seen to refuse such a time, which its documentation does not say.
        val answer =
          try Right(stream.atTimestamp(shard, Instant.now.plusSeconds(600)))
          catch { case refused: InvalidArgumentException => Left(refused) }
        answer.foreach(iterator => stream.get(iterator).records shouldBe empty)
      }
    }

    promise("refuses a type without its sequence number or timestamp") {
      withFive { (stream, shard, _) =>
        refusedArgument(ask(stream, shard, ShardIteratorType.AT_SEQUENCE_NUMBER)(identity))
        refusedArgument(ask(stream, shard, ShardIteratorType.AFTER_SEQUENCE_NUMBER)(identity))
        refusedArgument(ask(stream, shard, ShardIteratorType.AT_TIMESTAMP)(identity))
      }
    }

    promise("refuses a malformed sequence number") {
      withFive { (stream, shard, _) =>
        refusedArgument(stream.at(shard, "not-a-number"))
        refusedArgument(stream.after(shard, "not-a-number"))
      }
    }

    promise(
      "refuses a sequence number of another shard",
      Differences.TakesForeignNumbers.instead(withForeignNumber(_.after(_, _) should not be empty))
    ) {
      withForeignNumber((stream, shard, number) => refusedArgument(stream.after(shard, number)))
    }

    promise(
      "refuses an unknown iterator type",
      Differences.UnknownValueIsSerialization.instead(
        withFive((stream, shard, _) =>
          refusal(ask(stream, shard, null)(_.shardIteratorType("SOMEWHERE"))) shouldBe
            "SerializationException"
        )
      )
    ) {
      withFive((stream, shard, _) => refusedArgument(ask(stream, shard, null)(_.shardIteratorType("SOMEWHERE"))))
    }

    promise("throws ResourceNotFoundException for an unknown shard") {
      withStream(1) { stream =>
        a[ResourceNotFoundException] should be thrownBy stream.trimHorizon("shardId-000000000007")
      }
    }

    promise("returns an iterator that can be reused for the same records") {
      withFive { (stream, shard, _) =>
        val iterator = stream.trimHorizon(shard)
        TestStream.texts(stream.get(iterator)) shouldBe TestStream.texts(stream.get(iterator))
      }
    }
  }
}
