package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.util

import io.github.kinesisspark.aws.CborReader
import io.github.kinesisspark.aws.SdkDecoding.check
import io.github.kinesisspark.position.SequenceNumber
import io.github.kinesisspark.read.reader.AnswerMembers.{Members, Names}
import io.github.kinesisspark.read.reader.CborRecords._

/** Reads the records out of the CBOR of one answer to GetRecords. What is unusual (a member that comes twice, say) is refused here.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords]]
  */
private[reader] final class CborRecords private (answer: Iterable[ByteBuffer])
    extends CborReader(answer)
    with RecordMembers {
  private val packer = new AnswerRecords.Packer(length)

  // The sequence number of the record before.
  private var before       = NoBytes
  private var beforeFrom   = 0
  private var beforeLength = 0

  private def readRecords(): Array[KinesisRecord] = {
    var records = readList()
    while (goesOn(records)) {
      records -= 1
      readRecord()
    }
    packer.result()
  }

  private def readRecord(): Unit = {
    var key          = NoBytes
    var keyFrom      = 0
    var keyLength    = NoText
    var number       = NoBytes
    var numberFrom   = 0
    var numberLength = 0
    var arrival      = 0L
    var seen         = 0
    var members      = readMap()
    while (goesOn(members)) {
      members -= 1
      readText()
      val member = memberOfText()
      check((seen & member) == 0, "each member once")
      seen |= member
      member match {
        case Members.Data   => readData()
        case Members.Number =>
          readText()
          check(SequenceNumber.isNumber(text, textFrom, textFrom + textLength), "a sequence number")
          number = text
          numberFrom = textFrom
          numberLength = textLength
        case Members.Key =>
          if (readTextOrNull()) {
            key = text
            keyFrom = textFrom
            keyLength = textLength
          }
        case Members.Arrival =>
          arrival = readMillis()
        case Members.Encryption => readTextOrNull(): Unit
        case _                  => skipMember()
      }
    }
    check((seen & Members.Required) == Members.Required, "a whole record")
    check(
      AnswerRecords.comesAfter(number, numberFrom, numberLength, before, beforeFrom, beforeLength),
      "records in their order"
    )
    before = number
    beforeFrom = numberFrom
    beforeLength = numberLength
    packer.add(key, keyFrom, keyLength, number, numberFrom, numberLength, arrival)
  }

  private def readData(): Unit = {
    readBytes()
    if (!AnswerRecords.isLarge(textLength)) packer.addData(text, textFrom, textLength)
    else packer.addData(if (isTextCopy) text else util.Arrays.copyOfRange(text, textFrom, textFrom + textLength))
  }
}

private[reader] object CborRecords {

  /** The records, and the answer without them.
    *
    * @param pieces its bytes, in their order; they are not changed, as the records' text is compared in them
    * @throws java.lang.Exception where the answer is not as expected
    */
  def split(pieces: Iterable[ByteBuffer]): (Array[KinesisRecord], Array[Byte]) = {
    val records = new CborRecords(pieces)
    records.split(Names.Records, Names.Iterator)(records.readRecords())
  }

  private val NoText  = -1
  private val NoBytes = new Array[Byte](0)
}
