package io.github.kinesisspark.read.reader

import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.jdk.DurationConverters._
import scala.jdk.OptionConverters._
import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.Generators.shard
import io.github.kinesisspark.aws.SilentCalls
import io.github.kinesisspark.config.{CallRetries, SourceOptions}
import io.github.kinesisspark.position.ShardPosition.TrimHorizon
import io.github.kinesisspark.read.catalog.ShardProbes
import io.github.kinesisspark.runtime.VirtualTime

class AttemptTimeSpec extends AnyFunSpec with Matchers with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(30.seconds, 5.millis)

  /** Remembers the time limits of its calls. */
  private final class Limits extends StubKinesis {
    private val seen = new ConcurrentLinkedQueue[FiniteDuration]

    def all: Set[FiniteDuration] = seen.asScala.toSet

    private def of(request: KinesisRequest): Unit = for (o <- request.overrideConfiguration.toScala)
      seen.addAll((o.apiCallTimeout.toScala ++ o.apiCallAttemptTimeout.toScala).map(_.toScala).toSeq.asJava): Unit

    override def getShardIterator(request: GetShardIteratorRequest): CompletableFuture[GetShardIteratorResponse] = {
      of(request)
      super.getShardIterator(request)
    }

    override def getRecords(request: GetRecordsRequest): CompletableFuture[GetRecordsResponse] = {
      of(request)
      super.getRecords(request)
    }
  }

  private def driver(retries: CallRetries): Set[FiniteDuration] = {
    val time = new VirtualTime
    import time.runtime
    val limits = new Limits
    new ShardProbes(limits, SilentCalls.retry(retries)).at(shard(0), TrimHorizon, 1)
    limits.all
  }

  private def reader(retries: CallRetries): Set[FiniteDuration] = {
    val limits = new Limits
    Using.resource(new PublisherScene(limits, retries = retries)) { scene =>
      scene.polling().request()
      eventually(scene.deliveries should not be empty)
    }
    limits.all
  }

  private def retriesOf(options: (String, String)*) =
    SourceOptions.parse(Map("streamName" -> "a", "region" -> "eu-west-1") ++ options).client.retries

  for ((where, limitsOf) <- Seq[(String, CallRetries => Set[FiniteDuration])](("driver", driver), ("reader", reader)))
    describe(s"an attempt of a call of a $where") {
      it("takes a minute at most by default") {
        limitsOf(retriesOf()) shouldBe Set(1.minute)
      }

      it("takes as long as connectTimeout and readTimeout together where that is more than a minute") {
        limitsOf(retriesOf("readTimeout" -> "2m")) shouldBe Set(130.seconds)
        limitsOf(retriesOf("connectTimeout" -> "45s")) shouldBe Set(75.seconds)
      }
    }
}
