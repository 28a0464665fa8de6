package io.github.kinesisspark.fuzz

import io.github.kinesisspark.config.{CallRetries, PollingOptions}
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.reader.{PollingPublisherFactory, ReaderTelemetry, ReadingClient}

/** Answers of GetRecords. One that is asked for brings a delivery or a failure, or is asked for again later; the records it holds
  * are in the delivery; the end of a shard isn't made up.
  */
object PolledAnswers extends Target {
  override val name = "polled"

  import Desk.runtime

  private val http = new CannedHttp
  // From a record on, those up to it would be left out.
  private val from   = ShardPosition.TrimHorizon
  private val access = ReadingClient(http.client, CallRetries.default, isAws = false, () => false, () => ())

  override def check(input: Array[Byte]): Unit = if (input.length >= 2) {
    val answer = Answer.of(input)
    val desk   = polled(answer)
    checkOutcome(desk, answer)
    desk.checkDeliveries(from)
  }

  /** What a reader makes of one answer of GetRecords. */
  private[fuzz] def polled(answer: Answer, telemetry: ReaderTelemetry = new ReaderTelemetry): Desk = {
    val desk = new Desk
    http.answer = {
      case "GetShardIterator" => Answer.ok(Cbor.write(Map("ShardIterator" -> "first")))
      case _                  => answer
    }
    val polling =
      new PollingPublisherFactory(
        _ => access,
        desk,
        telemetry,
        starts = None,
        PollingOptions.Default
      )
    polling.open(Desk.shard, from, desk).request()
    desk.run()
    desk
  }

  private def checkOutcome(desk: Desk, answer: Answer): Unit = {
    val outcomes = desk.delivered.size + desk.failed.size + desk.pending.size
    Broken.unless(outcomes == 1)(
      s"${desk.delivered.size} deliveries, ${desk.failed.size} failures, ${desk.pending.size} times to come"
    )
    Broken.unless(desk.budget.used == desk.delivered.map(_.totals.heap).sum)(
      s"${desk.budget.used} bytes are never given back"
    )
    for (delivery <- desk.delivered) {
      val body = answer.parts.flatten.toArray
      for (sent <- Cbor.size(body, "Records"))
        Broken.unless(sent == delivery.records.length)(s"$sent records were sent, ${delivery.records.length} came")
      val tells = Cbor.read(body).forall(_.has("Records"))
      Broken.unless(delivery.position != ShardPosition.ShardEnd || tells)("an answer that says nothing ends the shard")
    }
  }

  override def seeds: Seq[Array[Byte]] = Seq(
    answer("Records" -> Seq(record("1001"), record("1002")), "NextShardIterator" -> "next", "MillisBehindLatest" -> 0L),
    answer("Records" -> Seq.empty, "NextShardIterator"            -> "next", "MillisBehindLatest" -> 5000L),
    answer("Records" -> Seq(record("1003")), "MillisBehindLatest" -> 0L, "ChildShards"            -> Seq(child)),
    Array[Byte](5, 2) ++ Cbor.write(Map("__type" -> "ExpiredIteratorException", "message" -> "expired")),
    Array[Byte](9, 0) ++ "<html>no</html>".getBytes
  )

  private[fuzz] def answer(members: (String, Any)*) = Array[Byte](0, 0) ++ Cbor.write(members.toMap)

  private[fuzz] def record(number: String): Map[String, Any] = Map(
    "SequenceNumber"              -> number,
    "Data"                        -> s"data of $number".getBytes,
    "PartitionKey"                -> "key",
    "ApproximateArrivalTimestamp" -> 1700000000500L
  )

  private[fuzz] val child: Map[String, Any] = Map(
    "ShardId"      -> "shardId-000000000001",
    "ParentShards" -> Seq("shardId-000000000000"),
    "HashKeyRange" -> Map("StartingHashKey" -> "0", "EndingHashKey" -> "340282366920938463463374607431768211455")
  )
}
