package io.github.kinesisspark.it.conformance

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{Differences, TestStream}

/** The rate limits of a shard: 5 GetRecords calls, 1 MB and 1,000 records written per second. */
trait LimitScenarios { this: Conformance =>

  private def withLimitedStream(body: TestStream => Any): Unit = {
    withStreamOn(target.limited, 1)(body)
    ()
  }

  private def records(count: Int, size: Int): Seq[PutRecordsRequestEntry] =
    Seq.fill(count)(
      PutRecordsRequestEntry.builder().partitionKey("key").data(SdkBytes.fromByteArray(new Array(size))).build()
    )

  private def putOnce(stream: TestStream, records: Seq[PutRecordsRequestEntry]): PutRecordsResponse =
    stream.service.callOnce(_.putRecords(r => r.streamName(stream.name).records(records.asJava)))

  /** What becomes of so many reads of one iterator at the same time. */
  private def readAtOnce(stream: TestStream, calls: Int): Seq[Try[GetRecordsResponse]] = {
    val iterator = stream.trimHorizon(stream.onlyShard().shardId)
    val answers  = Seq.fill(calls)(stream.service.impatientClient.getRecords { r => r.shardIterator(iterator); () })
    answers.map(answer => Try(stream.service.callOnce(_ => answer)))
  }

  protected def limitScenarios(): Unit = describe("A shard's limits") {
    promise(
      "refuse some of 50 concurrent GetRecords calls",
      Differences.NoRateLimits.instead(withLimitedStream(readAtOnce(_, 50).foreach(_.isSuccess shouldBe true)))
    ) {
      withLimitedStream { stream =>
        val (served, refused) = readAtOnce(stream, 50).partition(_.isSuccess)
        served should not be empty
        refused.size should be >= 10
        refused.foreach {
          case Failure(e) => e shouldBe a[ProvisionedThroughputExceededException]
          case Success(_) => fail("counted as refused")
        }
        eventually(stream.get(stream.trimHorizon(stream.onlyShard().shardId)).records shouldBe empty)
      }
    }

    promise(
      "refuse single records of a PutRecords call, and accept the others",
      Differences.NoRateLimits.instead(
        withLimitedStream(putOnce(_, records(500, 6000)).failedRecordCount.intValue shouldBe 0)
      )
    ) {
      withLimitedStream { stream =>
        val answer          = putOnce(stream, records(500, 6000))
        val (failed, taken) = answer.records.asScala.toSeq.partition(_.errorCode != null)
        failed should not be empty
        taken should not be empty
        answer.failedRecordCount.intValue shouldBe failed.size
        failed.foreach { record =>
          record.errorCode shouldBe "ProvisionedThroughputExceededException"
          record.errorMessage should include(stream.name)
          record.sequenceNumber shouldBe null
          record.shardId shouldBe null
        }
        stream
          .drain(stream.trimHorizon(stream.onlyShard().shardId))
          .flatMap(_.records.asScala)
          .map(_.sequenceNumber) shouldBe taken.map(_.sequenceNumber)
        eventually(putOnce(stream, records(1, 10)).failedRecordCount.intValue shouldBe 0)
      }
    }

    promise(
      "refuse a PutRecord call as throttled",
      Differences.NoRateLimits.instead(withLimitedStream { stream =>
        (1 to 4).foreach(_ => stream.putBytes(new Array(900000)))
      })
    ) {
      withLimitedStream { stream =>
        val puts = Seq.fill(12)(
          stream.service.impatientClient.putRecord { r =>
            r.streamName(stream.name).partitionKey("key").data(SdkBytes.fromByteArray(new Array(900000)))
            ()
          }
        )
        val outcomes = puts.map(put => Try(stream.service.callOnce(_ => put)))
        outcomes.count(_.isSuccess) should be >= 1
        val failures = outcomes.collect { case Failure(e) => e }
        failures should not be empty
        failures.foreach(_ shouldBe a[ProvisionedThroughputExceededException])
      }
    }
  }
}
