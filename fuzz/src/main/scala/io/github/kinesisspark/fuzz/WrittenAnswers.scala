package io.github.kinesisspark.fuzz

import java.nio.charset.StandardCharsets.UTF_8

import io.github.kinesisspark.config.StreamRef
import io.github.kinesisspark.write.PutRecordsCall
import io.github.kinesisspark.write.send.{CallAnswer, Entry, RecordAnswer, RowId}

/** Answers of PutRecords: each record is reported, or the call has failed; a record counts as taken only where its own result says so. */
object WrittenAnswers extends Target {
  override val name = "written"

  private val http    = new CannedHttp
  private val stream  = StreamRef.ByArn(Desk.shard.stream)
  private val entries =
    Vector.tabulate(3)(n => new Entry(stream, s"key-$n", None, "x".getBytes(UTF_8), RowId("r", 0, n.toLong)))

  override def check(input: Array[Byte]): Unit = if (input.length >= 2) {
    val answer = Answer.of(input)
    http.answer = _ => answer
    val call = PutRecordsCall(http.client, stream, entries, () => false)
    Broken.unless(call.isDone)("it has no result")
    call.join() match {
      case CallAnswer.PerRecord(results) =>
        Broken.unless(results.size == entries.size)(s"${results.size} results for ${entries.size} records")
        val sent = Cbor.read(answer.parts.flatten.toArray).map(_.path("Records"))
        for (records <- sent; (result, n) <- results.zipWithIndex) result match {
          case RecordAnswer.Taken(shard) =>
            Broken.unless(shard != null && !records.path(n).hasNonNull("ErrorCode"))(s"record $n was taken by $shard")
          case RecordAnswer.Refused(code, _) => Broken.unless(code != null)(s"record $n was refused without a code")
        }
      case CallAnswer.Failed(_, _, error) => Broken.unless(error.getMessage.startsWith("[KINESIS_"))(s"$error")
    }
  }

  override def seeds: Seq[Array[Byte]] = Seq(
    answer("Records"           -> Seq(taken, taken, taken), "FailedRecordCount"    -> 0),
    answer("Records"           -> Seq(taken, refused, taken), "FailedRecordCount"  -> 1),
    answer("Records"           -> Seq(taken), "FailedRecordCount"                  -> 0),
    answer("Records"           -> Seq(taken, Map.empty, null), "FailedRecordCount" -> 0),
    answer("FailedRecordCount" -> 0),
    Array[Byte](5, 1) ++ Cbor.write(Map("__type" -> "ProvisionedThroughputExceededException", "message" -> "slow down"))
  )

  private def answer(members: (String, Any)*) = Array[Byte](0, 0) ++ Cbor.write(members.toMap)

  private def taken   = Map[String, Any]("SequenceNumber" -> "4959", "ShardId" -> "shardId-000000000000")
  private def refused = Map[String, Any](
    "ErrorCode"    -> "ProvisionedThroughputExceededException",
    "ErrorMessage" -> "Rate exceeded for shard shardId-000000000000 in stream orders under account 123456789012."
  )
}
