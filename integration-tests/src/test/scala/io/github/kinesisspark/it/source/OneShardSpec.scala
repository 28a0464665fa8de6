package io.github.kinesisspark.it.source

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.debug.codegenString
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Suites

/** One shard on more cores than it has tasks by default. */
final class OneShard(override protected val mode: Mode) extends TestkitSuite {
  override def suiteName: String = s"One shard by $mode"
  override def suiteId: String   = s"${getClass.getName}-$mode"

  override protected def master: String = "local[64,4]"

  describe("the records of one shard") {
    it("are processed in order by 64 tasks with minPartitions=64 and by one task without") {
      val stream = newStream(shards = 1)
      val texts  = put(stream, "r", 2000)
      for (partitions <- Seq(1, 64)) {
        val log   = new BatchLog
        val tasks = new ConcurrentLinkedQueue[Int]
        running(load(stream, "minPartitions" -> partitions.toString), checkpoint()) { (batch, id) =>
          tasks.add(batch.rdd.getNumPartitions)
          log.add(batch, id)
        }(_ => eventually(log.rows.size shouldBe texts.size))
        log.texts shouldBe texts
        tasks.asScala.max shouldBe partitions
      }
    }
  }

  describe("a streaming query that selects one column") {
    it("reads that column of each record, and no other") {
      val stream = newStream(shards = 1)
      put(stream, "r", 10)
      val query = load(stream)
        .select("data")
        .writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint().toString)
        .trigger(Trigger.AvailableNow)
        .start()
      query.awaitTermination()
      val ran  = query.asInstanceOf[StreamingQueryWrapper].streamingQuery.lastExecution
      val code = codegenString(ran.executedPlan)
      code should include("getBinary(0)")
      code should not include "getUTF8String("
      code should not include "getLong("
    }
  }
}

class OneShardSpec extends Suites(Mode.both.map(new OneShard(_)): _*)
