package io.github.kinesisspark.write

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util

import scala.jdk.CollectionConverters._

import software.amazon.awssdk.services.kinesis.model.{PutRecordsResponse, PutRecordsResultEntry}

import io.github.kinesisspark.aws.{BodyExtractor, CborReader, DamagedAnswer, SdkDecoding, StreamDirectory}
import io.github.kinesisspark.error.OneLine
import io.github.kinesisspark.write.send.RecordAnswer
import io.github.kinesisspark.aws.SdkDecoding.check

/** The body of one answer to PutRecords: its results are read without their sequence numbers, which nobody asks for. */
private[write] final class PutResultExtractor extends BodyExtractor[Vector[RecordAnswer]](PutResultExtractor.splitter) {

  /** One for each record that was sent.
    *
    * @param answer  what the SDK made of the body
    * @param records that were sent
    * @throws DamagedAnswer unless it has a result for each record, and as many refusals as it counts
    */
  def of(answer: PutRecordsResponse, records: Int): Vector[RecordAnswer] = {
    val results = part.getOrElse(answer.records.asScala.iterator.map(PutResultExtractor.resultOf).toVector)
    if (results.size != records)
      throw new DamagedAnswer(s"It has results of ${results.size} records, and $records were sent")
    val refused = results.count(_.isInstanceOf[RecordAnswer.Refused])
    if (Option(answer.failedRecordCount).exists(_ != refused))
      throw new DamagedAnswer(s"It refuses $refused records, and its FailedRecordCount is ${answer.failedRecordCount}")
    results
  }
}

private[write] object PutResultExtractor {

  private[write] def splitter(mediaType: String): Option[BodyExtractor.Splitter[Vector[RecordAnswer]]] =
    Option.when(mediaType == BodyExtractor.Cbor)(new CborResults(_).split())

  private def resultOf(result: PutRecordsResultEntry): RecordAnswer =
    if (result.errorCode == null) taken(result.shardId)
    else refused(result.errorCode, Option(result.errorMessage))

  private def taken(shardId: String) = RecordAnswer.Taken(StreamDirectory.idOf(shardId))

  private def refused(code: String, message: Option[String]) =
    RecordAnswer.Refused(OneLine(code), message.fold("")(OneLine(_)))

  private final class CborResults(answer: Iterable[ByteBuffer]) extends CborReader(answer) {

    // A call's records go to few shards, whose numbers are at the end of their IDs.
    private val names   = new Array[Array[Byte]](KnownShards)
    private val answers = new Array[RecordAnswer](KnownShards)

    def split(): (Vector[RecordAnswer], Array[Byte]) = split(Names.Records, Names.Encryption)(readResults())

    private def readResults(): Vector[RecordAnswer] = {
      val all     = Vector.newBuilder[RecordAnswer]
      var results = readList()
      while (goesOn(results)) {
        results -= 1
        all += readResult()
      }
      all.result()
    }

    private def readResult(): RecordAnswer = {
      var shard   = Option.empty[RecordAnswer]
      var code    = Option.empty[String]
      var message = Option.empty[String]
      var members = readMap()
      while (goesOn(members)) {
        members -= 1
        readText()
        if (isText(Names.ShardId)) {
          check(shard.isEmpty, "each member once")
          if (readTextOrNull()) shard = Some(takenByShard())
        } else if (isText(Names.ErrorCode)) {
          check(code.isEmpty, "each member once")
          if (readTextOrNull()) code = Some(string)
        } else if (isText(Names.ErrorMessage)) {
          check(message.isEmpty, "each member once")
          if (readTextOrNull()) message = Some(string)
        } else if (isText(Names.SequenceNumber)) readTextOrNull(): Unit
        else skipMember()
      }
      code.fold(shard.getOrElse(SdkDecoding.unexpected("a shard or an error")))(refused(_, message))
    }

    /** By the shard whose ID was just read. */
    private def takenByShard(): RecordAnswer = {
      val place = if (textLength == 0) 0 else text(textFrom + textLength - 1) & (KnownShards - 1)
      if (names(place) == null || !isText(names(place))) {
        answers(place) = taken(string)
        names(place) = util.Arrays.copyOfRange(text, textFrom, textFrom + textLength)
      }
      answers(place)
    }

    private def string = new String(text, textFrom, textLength, UTF_8)
  }

  /** A power of two, above the ten digits. */
  private val KnownShards = 16

  /** @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecordsResultEntry.html PutRecordsResultEntry]] */
  private object Names {
    val Records: Array[Byte]        = "Records".getBytes(ISO_8859_1)
    val Encryption: Array[Byte]     = "EncryptionType".getBytes(ISO_8859_1)
    val ShardId: Array[Byte]        = "ShardId".getBytes(ISO_8859_1)
    val SequenceNumber: Array[Byte] = "SequenceNumber".getBytes(ISO_8859_1)
    val ErrorCode: Array[Byte]      = "ErrorCode".getBytes(ISO_8859_1)
    val ErrorMessage: Array[Byte]   = "ErrorMessage".getBytes(ISO_8859_1)
  }
}
