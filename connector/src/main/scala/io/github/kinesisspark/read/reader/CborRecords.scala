package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util

import io.github.kinesisspark.position.SequenceNumber
import io.github.kinesisspark.read.reader.AnswerRecords.{Members, Names}
import io.github.kinesisspark.read.reader.CborRecords._

/** Reads the records out of the CBOR of one answer to GetRecords, in the arrays that came from the network: a parser for all CBOR would copy the data
  * once more, and make characters of keys and numbers that are bytes again afterwards. What is unusual (text in pieces, a member that comes twice) is refused here.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords]]
  * @see [[https://www.rfc-editor.org/rfc/rfc8949.html RFC 8949]]
  */
private[reader] final class CborRecords private (pieces: Array[ByteBuffer], length: Int) {
  private val packer = new AnswerRecords.Packer(length)

  // The piece that is being read.
  private var piece = 0
  private var bytes = NoBytes
  private var at    = 0
  private var until = 0

  // Of all bytes, those behind this piece.
  private var behind = length

  // What the last head says.
  private var major    = 0
  private var argument = 0L

  // The text that was read last.
  private var text       = NoBytes
  private var textFrom   = 0
  private var textLength = 0

  // The sequence number of the record before.
  private var before       = NoBytes
  private var beforeFrom   = 0
  private var beforeLength = 0

  private def left = behind + until - at

  private def split(): (Array[KinesisRecord], Array[Byte]) = {
    var records = Option.empty[Array[KinesisRecord]]
    var begin   = 0
    var end     = 0
    var members = readBegin(MapOf)
    while (goesOn(members)) {
      members -= 1
      readText()
      if (isText(Names.Records)) {
        check(records.isEmpty, "records once")
        begin = length - left
        records = Some(readRecords())
        end = length - left
      } else skipValue(MostDepth)
    }
    check(left == 0, "its end")
    val all  = records.getOrElse(throw new IllegalArgumentException("no records"))
    val rest = ByteBuffer.allocate(length - (end - begin) + 1)
    copy(0, begin, rest)
    rest.put(EmptyArray)
    copy(end, length, rest)
    (all, rest.array)
  }

  private def readRecords(): Array[KinesisRecord] = {
    var records = readBegin(ListOf)
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
    var members      = readBegin(MapOf)
    while (goesOn(members)) {
      members -= 1
      readText()
      val member = nameOfMember()
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
          readHead()
          if (!isNull) {
            takeText()
            checkUtf8()
            key = text
            keyFrom = textFrom
            keyLength = textLength
          }
        case Members.Arrival =>
          // Milliseconds, where JSON has seconds: https://github.com/aws/aws-sdk-java-v2/issues/184
          readHead()
          check(major == Unsigned, "milliseconds")
          arrival = argument
        case _ => skipValue(MostDepth)
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

  /** Of the text that was just read. */
  private def nameOfMember(): Int =
    if (isText(Names.Data)) Members.Data
    else if (isText(Names.SequenceNumber)) Members.Number
    else if (isText(Names.PartitionKey)) Members.Key
    else if (isText(Names.Arrival)) Members.Arrival
    else Members.Unknown

  private def readData(): Unit = {
    readHead()
    check(major == Bytes && argument != Endless, "data")
    val length = lengthHere()
    if (AnswerRecords.isLarge(length)) {
      val all = new Array[Byte](length)
      take(length, (from, offset, some, done) => System.arraycopy(from, offset, all, done, some))
      packer.addData(all)
    } else if (length <= until - at) {
      packer.addData(bytes, at, length)
      at += length
    } else take(length, (from, offset, some, _) => packer.addData(from, offset, some))
  }

  private def readText(): Unit = {
    readHead()
    takeText()
  }

  /** After its head: a view of the piece, or a copy where it lies in two. */
  private def takeText(): Unit = {
    check(major == Text && argument != Endless, "text")
    textLength = lengthHere()
    if (textLength <= until - at) {
      text = bytes
      textFrom = at
      at += textLength
    } else {
      val copy = new Array[Byte](textLength)
      take(textLength, (from, offset, some, done) => System.arraycopy(from, offset, copy, done, some))
      text = copy
      textFrom = 0
    }
  }

  private def isText(name: Array[Byte]) =
    textLength == name.length && util.Arrays.equals(text, textFrom, textFrom + textLength, name, 0, name.length)

  private def checkUtf8(): Unit = {
    var i = textFrom
    val n = textFrom + textLength
    while (i < n && text(i) >= 0) i += 1
    // It throws where the bytes are none.
    if (i < n) UTF_8.newDecoder.decode(ByteBuffer.wrap(text, textFrom, textLength)): Unit
  }

  /** The length that the last head says, of bytes that are there. */
  private def lengthHere(): Int = {
    check(argument <= left, "as many bytes as it says")
    argument.toInt
  }

  /** Bytes of one piece or several.
    *
    * @param use their array, where they begin, how many they are, and how many came before
    */
  private def take(length: Int, use: (Array[Byte], Int, Int, Int) => Unit): Unit = {
    var done = 0
    while (done < length) {
      if (at == until) nextPiece()
      val some = (until - at).min(length - done)
      use(bytes, at, some, done)
      at += some
      done += some
    }
  }

  private def skipValue(depth: Int): Unit = {
    check(depth > 0, "fewer values in one another")
    readHead()
    major match {
      case Unsigned | Negative => ()
      case Bytes | Text        =>
        check(argument != Endless, "its length")
        take(lengthHere(), (_, _, _, _) => ())
      case ListOf | MapOf =>
        val each   = if (major == MapOf) 2 else 1
        var values = argument
        while (goesOn(values)) {
          values -= 1
          (1 to each).foreach(_ => skipValue(depth - 1))
        }
      case _ => check(argument != Endless, "a value")
    }
  }

  /** Begins a list or map.
    *
    * @return how many members it has, or [[Endless]]
    */
  private def readBegin(kind: Int): Long = {
    readHead()
    check(major == kind, "an object or list")
    argument
  }

  /** @param members that are to come, or negative where a break ends them */
  private def goesOn(members: Long): Boolean =
    if (members >= 0) members > 0
    else {
      if (at == until) nextPiece()
      val isOver = bytes(at) == Break
      if (isOver) at += 1
      !isOver
    }

  private def isNull = major == Simple && argument == Null

  /** Reads what kind of value comes, and its number, length, or count of members. Tags are passed over. */
  private def readHead(): Unit = {
    var head = readByte()
    while (head >> 5 == Tag) {
      readArgument(head & 0x1f)
      head = readByte()
    }
    major = head >> 5
    readArgument(head & 0x1f)
  }

  private def readArgument(short: Int): Unit =
    if (short < 24) argument = short.toLong
    else if (short == 31) argument = Endless
    else {
      check(short <= 27, "a head")
      argument = 0
      var n = 1 << (short - 24)
      while (n > 0) {
        argument = argument << 8 | readByte()
        n -= 1
      }
      check(argument >= 0, "a number of 63 bits")
    }

  private def readByte(): Int = {
    if (at == until) nextPiece()
    val byte = bytes(at) & 0xff
    at += 1
    byte
  }

  private def nextPiece(): Unit = {
    check(behind > 0, "more")
    val next = pieces(piece)
    piece += 1
    bytes = next.array
    at = next.arrayOffset + next.position()
    until = at + next.remaining
    behind -= next.remaining
  }

  /** Of all bytes. */
  private def copy(from: Int, until: Int, to: ByteBuffer): Unit = {
    var begin = 0
    for (piece <- pieces) {
      val first = (from - begin).max(0)
      val last  = (until - begin).min(piece.remaining)
      if (first < last) to.put(piece.array, piece.arrayOffset + piece.position() + first, last - first)
      begin += piece.remaining
    }
  }
}

private[reader] object CborRecords {

  /** The records, and the answer without them.
    *
    * @param pieces its bytes, in their order; they are not changed, as the records' text is compared in them
    * @throws java.lang.Exception where the answer is not as expected
    */
  def split(pieces: Iterable[ByteBuffer]): (Array[KinesisRecord], Array[Byte]) = {
    val arrays = pieces.iterator.filter(_.hasRemaining).map(inArray).toArray
    new CborRecords(arrays, arrays.map(_.remaining).sum).split()
  }

  private def inArray(piece: ByteBuffer) =
    if (piece.hasArray) piece else ByteBuffer.allocate(piece.remaining).put(piece.duplicate()).flip()

  private def check(condition: Boolean, what: String): Unit =
    if (!condition) throw new IllegalArgumentException(what)

  // Kinds of values: https://www.rfc-editor.org/rfc/rfc8949.html#section-3.1
  private final val Unsigned = 0
  private final val Negative = 1
  private final val Bytes    = 2
  private final val Text     = 3
  private final val ListOf   = 4
  private final val MapOf    = 5
  private final val Tag      = 6
  private final val Simple   = 7

  private val Null       = 22
  private val Break      = 0xff.toByte
  private val EmptyArray = 0x80.toByte

  /** In place of a length or count: a break ends it. */
  private val Endless = -1L

  private val NoText  = -1
  private val NoBytes = new Array[Byte](0)

  /** Of lists and maps that the answer may have besides its records. */
  private val MostDepth = 32
}
