package io.github.kinesisspark.read.reader

import software.amazon.awssdk.services.kinesis.model.GetRecordsResponse

import io.github.kinesisspark.aws.BodyExtractor
import io.github.kinesisspark.position.ShardPosition

/** The body of one answer to GetRecords: its records are packed as they are read. */
final class RecordExtractor extends BodyExtractor[Array[KinesisRecord]](RecordExtractor.splitter) {

  /** Those after a position.
    *
    * @param answer what the SDK made of the body
    * @throws io.github.kinesisspark.aws.DamagedAnswer where something is missing in them, or they are out of order
    */
  def records(answer: GetRecordsResponse, position: ShardPosition): Array[KinesisRecord] =
    part.fold(KinesisRecord.after(position, answer.records))(KinesisRecord.after(position, _))

  /** All of them. */
  def records(answer: GetRecordsResponse): Array[KinesisRecord] = records(answer, ShardPosition.TrimHorizon)
}

private[kinesisspark] object RecordExtractor {
  def splitter(mediaType: String): Option[BodyExtractor.Splitter[Array[KinesisRecord]]] =
    mediaType match {
      case BodyExtractor.Cbor => Some(CborRecords.split)
      case BodyExtractor.Json => Some(chunks => JsonRecords.split(BodyExtractor.joined(chunks), JsonRecords.NoRecords))
      case _                  => None
    }
}
