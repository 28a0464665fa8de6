package io.github.kinesisspark.fuzz

import scala.concurrent.duration._

import io.github.kinesisspark.aws._
import io.github.kinesisspark.config.{CallRetries, StreamRef}
import io.github.kinesisspark.read.plan.Lineage
import io.github.kinesisspark.runtime.{Clock, Runtime, Waits}

/** Answers of ListShards and DescribeStreamSummary: all shards that were sent are listed, or an error of ours says why not. */
object ListedShards extends Target {
  override val name = "listed"

  private val http = new CannedHttp

  override def check(input: Array[Byte]): Unit = if (input.length >= 2) {
    val answer = Answer.of(input)
    http.answer = _ => answer
    implicit val runtime: Runtime = hasty()

    val retry     = BlockingCalls(CallRetries.default.within(2.seconds), () => false, Silent)
    val directory = new StreamDirectory(http.client, retry)
    val stream    = StreamRef.ByArn(Desk.shard.stream)
    refusedOr(directory.describe(stream)) { about =>
      Broken.unless(about.arn != null && about.retentionHours >= 0)(s"$about")
    }
    // An answer that names the next page names it without end.
    if (!Cbor.read(input.drop(2)).exists(_.has("NextToken"))) refusedOr(directory.listShards(stream, ShardFilter.All)) {
      listing =>
        for (sent <- Cbor.size(answer.parts.flatten.toArray, "Shards"))
          Broken.unless(sent == listing.shards.size)(s"$sent shards were sent, ${listing.shards.size} are listed")
        Broken.unless(Cbor.read(input.drop(2)).forall(_.has("Shards")))("an answer that says nothing lists no shards")
        Broken.unless(listing.shards.forall(s => s.id != null && s.hashKeys.start <= s.hashKeys.end))(s"$listing")
        val _ = Lineage(listing.shards).inOrder.size
    }
  }

  /** Time that passes only where somebody sleeps, at once. */
  private def hasty(): Runtime = {
    val jvm   = Runtime.ofJvm
    var now   = 0L
    val clock = new Clock {
      override def nanos(): Long  = now * 1000000
      override def millis(): Long = now
    }
    val waits = new Waits(clock) {
      override def await(monitor: AnyRef, nanos: Long): Unit = jvm.waits.await(monitor, nanos)
      override def signal(monitor: AnyRef): Unit             = jvm.waits.signal(monitor)
      override def sleep(time: FiniteDuration): Unit         = now += time.toMillis.max(1)
    }
    new Runtime(clock, waits, jvm.ids, jvm.workers)
  }

  private object Silent extends CallObserver {
    override def called(action: AwsCall): Unit                                                     = ()
    override def waits(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit = ()
  }

  private def refusedOr[A](ask: => A)(holds: A => Unit): Unit = {
    val answered =
      try Some(ask)
      catch { case _: KinesisException => None }
    answered.foreach(holds)
  }

  override def seeds: Seq[Array[Byte]] = Seq(
    Map("Shards" -> Seq(shard(0, None), shard(1, Some("shardId-000000000000")))),
    Map("Shards" -> Seq.empty),
    Map(
      "StreamDescriptionSummary" -> Map[String, Any](
        "StreamARN"               -> Desk.shard.stream.text,
        "StreamName"              -> "orders",
        "StreamStatus"            -> "ACTIVE",
        "RetentionPeriodHours"    -> 24,
        "StreamCreationTimestamp" -> 1700000000.0,
        "OpenShardCount"          -> 1
      )
    )
  ).map(Array[Byte](0, 0) ++ Cbor.write(_))

  private def shard(number: Int, parent: Option[String]) = Map[String, Any](
    "ShardId"      -> f"shardId-$number%012d",
    "HashKeyRange" -> Map("StartingHashKey" -> "0", "EndingHashKey" -> "340282366920938463463374607431768211455"),
    "SequenceNumberRange" -> Map("StartingSequenceNumber" -> "4959", "EndingSequenceNumber" -> "4960")
  ) ++ parent.map("ParentShardId" -> _)
}
