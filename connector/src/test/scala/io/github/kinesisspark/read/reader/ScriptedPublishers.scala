package io.github.kinesisspark.read.reader

import io.github.kinesisspark.aws.{FailureReason, KinesisException}
import io.github.kinesisspark.position.{Shard, ShardKey, ShardPosition}
import io.github.kinesisspark.read.reader.RecordPublisher.{Delivery, Sink}
import io.github.kinesisspark.runtime.Runtime

/** Record publishers that deliver the records given by the test at the moment it asks. */
final class ScriptedPublishers(implicit runtime: Runtime) extends RecordPublisher.Factory {
  @volatile var opened: Vector[Scripted] = Vector.empty

  def last: Scripted = opened.last

  override def open(shard: ShardKey, position: ShardPosition, sink: Sink): RecordPublisher = {
    opened :+= new Scripted(position, sink)
    opened.last
  }

  final class Scripted(val position: ShardPosition, sink: Sink) extends RecordPublisher {
    @volatile var requests = 0
    @volatile var closed   = false

    override def request(): Unit = requests += 1
    override def close(): Unit   = closed = true

    def bring(position: ShardPosition, millisBehind: Long, records: KinesisRecord*): Unit =
      sink.deliver(
        Delivery(records.toArray, RecordTotals.of(records.toArray), position, millisBehind, runtime.clock.nanos())
      )

    /** The shard's end. */
    def end(children: Vector[Shard]): Unit =
      sink.deliver(
        Delivery(Array.empty, RecordTotals.of(Array.empty), ShardPosition.ShardEnd, 0, runtime.clock.nanos(), children)
      )

    def fail(errorClass: String, reason: FailureReason = FailureReason.Other): Unit =
      sink.fail(new KinesisException(errorClass, "as planned", reason = reason))

    def failNotFound(): Unit = fail("KINESIS_NOT_FOUND", FailureReason.NotFound)
  }
}
