package io.github.kinesisspark.read.reader

import java.nio.charset.StandardCharsets.ISO_8859_1

/** The members of answers and events that are read from their bytes. */
private[reader] object AnswerMembers {

  /** Of an answer or event, and of its records.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html Record]]
    */
  object Names {
    val Records: Array[Byte]        = "Records".getBytes(ISO_8859_1)
    val Data: Array[Byte]           = "Data".getBytes(ISO_8859_1)
    val SequenceNumber: Array[Byte] = "SequenceNumber".getBytes(ISO_8859_1)
    val PartitionKey: Array[Byte]   = "PartitionKey".getBytes(ISO_8859_1)
    val Arrival: Array[Byte]        = "ApproximateArrivalTimestamp".getBytes(ISO_8859_1)
    val Encryption: Array[Byte]     = "EncryptionType".getBytes(ISO_8859_1)
    val Iterator: Array[Byte]       = "NextShardIterator".getBytes(ISO_8859_1)
    val Continuation: Array[Byte]   = "ContinuationSequenceNumber".getBytes(ISO_8859_1)
  }

  /** Of a record, as bits. */
  object Members {
    final val Unknown    = 0
    final val Data       = 1
    final val Number     = 2
    final val Arrival    = 4
    final val Key        = 8
    final val Encryption = 16

    final val Required = Data | Number | Arrival
  }
}

/** Which member of a record a text names. */
private[reader] trait RecordMembers {
  import AnswerMembers._

  /** Whether the text that was read last is this name. */
  protected def isText(name: Array[Byte]): Boolean

  protected final def memberOfText(): Int =
    if (isText(Names.Data)) Members.Data
    else if (isText(Names.SequenceNumber)) Members.Number
    else if (isText(Names.PartitionKey)) Members.Key
    else if (isText(Names.Arrival)) Members.Arrival
    else if (isText(Names.Encryption)) Members.Encryption
    else Members.Unknown
}
