package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.ISO_8859_1

import io.github.kinesisspark.aws.JsonReader
import io.github.kinesisspark.aws.SdkDecoding.check
import io.github.kinesisspark.position.SequenceNumber
import io.github.kinesisspark.read.reader.AnswerMembers.{Members, Names}
import io.github.kinesisspark.read.reader.JsonRecords._

/** Reads the records out of the JSON of one event of a subscription, or of an answer to GetRecords. What is unusual (a member that comes twice, say) is
  * refused here.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShardEvent.html SubscribeToShardEvent]]
  */
private[reader] final class JsonRecords private (json: ByteBuffer) extends JsonReader(json) with RecordMembers {
  private val packer = new AnswerRecords.Packer(length / 4 * 3)

  // Of the record before.
  private var beforeFrom   = 0
  private var beforeLength = 0

  private def readRecords(): Array[KinesisRecord] = {
    var more = beginList()
    while (more) {
      readRecord()
      more = isNextElement()
    }
    packer.result()
  }

  private def readRecord(): Unit = {
    var key          = text
    var keyFrom      = 0
    var keyLength    = NoText
    var numberFrom   = 0
    var numberLength = 0
    var arrival      = 0L
    var seen         = 0
    var more         = beginObject()
    while (more) {
      readName()
      val member = memberOfText()
      check((seen & member) == 0, "each member once")
      seen |= member
      member match {
        case Members.Data   => readData()
        case Members.Number =>
          readText()
          check(SequenceNumber.isNumber(text, textFrom, textFrom + textLength), "a sequence number")
          numberFrom = textFrom
          numberLength = textLength
        case Members.Key =>
          key = readTextOrNull()
          keyFrom = textFrom
          keyLength = if (key == null) NoText else textLength
        case Members.Arrival    => arrival = readMillis()
        case Members.Encryption => readTextOrNull(): Unit
        case _                  => skipMember()
      }
      more = isNextMember()
    }
    check((seen & Members.Required) == Members.Required, "a whole record")
    check(
      AnswerRecords.comesAfter(text, numberFrom, numberLength, text, beforeFrom, beforeLength),
      "records in their order"
    )
    beforeFrom = numberFrom
    beforeLength = numberLength
    packer.add(key, keyFrom, keyLength, text, numberFrom, numberLength, arrival)
  }

  private def readData(): Unit = {
    readBytes()
    if (isBytesCopy) packer.addData(bytes) else packer.addData(bytes, 0, bytesLength)
  }
}

private[kinesisspark] object JsonRecords {

  /** The records, and the JSON without them.
    *
    * @param inPlace of the records; JSON as well
    * @throws java.lang.Exception where it is not as expected
    */
  def split(json: ByteBuffer, inPlace: Array[Byte]): (Array[KinesisRecord], Array[Byte]) = {
    val records = new JsonRecords(json)
    records.split(Names.Records, inPlace, Names.Iterator, Names.Continuation)(records.readRecords())
  }

  val NoRecords: Array[Byte] = "[]".getBytes(ISO_8859_1)

  private val NoText = -1
}
