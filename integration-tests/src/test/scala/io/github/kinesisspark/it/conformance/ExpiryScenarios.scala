package io.github.kinesisspark.it.conformance

import java.time.Duration

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.TestStream

/** Expiry of iterators and tokens after 5 minutes, and of records and closed shards after the retention period. */
trait ExpiryScenarios { this: Conformance with ListShardsScenarios =>

  protected def expiryScenarios(): Unit = describe("After a while") {
    promiseOnClock("an iterator expires five minutes after its creation") { clocked =>
      withStreamOn(clocked.service, 1) { stream =>
        val iterator = stream.trimHorizon(stream.onlyShard().shardId)
        clocked.advance(Duration.ofSeconds(240))
        stream.get(iterator).records shouldBe empty
        clocked.advance(Duration.ofSeconds(65))
        an[ExpiredIteratorException] should be thrownBy stream.get(iterator)
      }
    }

    promiseOnClock("a ListShards token expires five minutes after its creation") { clocked =>
      withStreamOn(clocked.service, 3) { stream =>
        val token = clocked.service.call(_.listShards(r => r.streamName(stream.name).maxResults(1))).nextToken
        clocked.advance(Duration.ofSeconds(305))
        an[ExpiredNextTokenException] should be thrownBy clocked.service.callOnce(_.listShards(r => r.nextToken(token)))
      }
    }

    promiseOnClock("records pass retention, and older positions start at the oldest remaining record") { clocked =>
      withStreamOn(clocked.service, 1) { stream =>
        val shard = stream.onlyShard().shardId
        val old   = stream.put("old").sequenceNumber
        clocked.advance(Duration.ofHours(23))
        stream.put("young")
        stream.texts(stream.trimHorizon(shard)) shouldBe Seq("old", "young")
        clocked.advance(Duration.ofHours(2))
        stream.texts(stream.trimHorizon(shard)) shouldBe Seq("young")
        stream.texts(stream.at(shard, old)) shouldBe Seq("young")
        stream.texts(stream.after(shard, old)) shouldBe Seq("young")
      }
    }

    promiseOnClock("a longer retention keeps records longer") { clocked =>
      withStreamOn(clocked.service, 1) { stream =>
        clocked.service.call(_.increaseStreamRetentionPeriod(r => r.streamName(stream.name).retentionPeriodHours(48)))
        awaitActive(stream)
        stream.put("kept")
        clocked.advance(Duration.ofHours(47))
        stream.texts(stream.trimHorizon(stream.onlyShard().shardId)) shouldBe Seq("kept")
      }
    }

    promiseOnClock("a closed shard whose records have all passed retention is no longer listed") { clocked =>
      withStreamOn(clocked.service, 1) { stream =>
        stream.put("old")
        splitInTwo(stream)
        clocked.advance(Duration.ofHours(25))
        stream.shards().filterNot(TestStream.isOpen) shouldBe empty
        clocked.service
          .call(_.describeStream(r => r.streamName(stream.name)))
          .streamDescription
          .shards
          .asScala should have size 2
      }
    }
  }
}
