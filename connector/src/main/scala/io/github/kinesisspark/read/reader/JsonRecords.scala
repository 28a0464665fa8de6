package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util

import io.github.kinesisspark.position.SequenceNumber
import io.github.kinesisspark.read.reader.AnswerRecords.{Members, Names}
import io.github.kinesisspark.read.reader.JsonRecords._

/** Reads the records out of the JSON of one event of a subscription, or of an answer to GetRecords, from byte to byte: a parser for all JSON would make characters of the
  * data first, and decode base64 from these. What such a parser would read in another way, or refuse, is refused here.
  *
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_SubscribeToShardEvent.html SubscribeToShardEvent]]
  */
private[reader] final class JsonRecords private (text: Array[Byte], from: Int, until: Int) {
  private val packer = new AnswerRecords.Packer((until - from) / 4 * 3)
  private val piece  = new Array[Byte](((until - from) / 4 * 3).min(PieceBytes))

  private var at = from

  // Of the name, or other text without escapes, that was read last.
  private var textFrom   = 0
  private var textLength = 0

  // Of this record, which members were there.
  private var members = 0

  // Of the record before.
  private var beforeFrom   = 0
  private var beforeLength = 0

  private def split(): (Array[KinesisRecord], Array[Byte]) = {
    var records = Option.empty[Array[KinesisRecord]]
    var begin   = 0
    var end     = 0
    expect('{')
    var more = isNotEmpty('}')
    while (more) {
      readName()
      if (isText(Names.Records)) {
        check(records.isEmpty, "records once")
        begin = at
        records = Some(readRecords())
        end = at
      } else skipValue()
      more = goesOn('}')
    }
    skipSpace()
    check(at == until, "its end")
    val all  = records.getOrElse(throw new IllegalArgumentException("no records"))
    val rest = ByteBuffer.allocate(until - from - (end - begin) + NoRecords.length)
    rest.put(text, from, begin - from).put(NoRecords).put(text, end, until - end)
    (all, rest.array)
  }

  private def readRecords(): Array[KinesisRecord] = {
    expect('[')
    var more = isNotEmpty(']')
    while (more) {
      readRecord()
      more = goesOn(']')
    }
    packer.result()
  }

  private def readRecord(): Unit = {
    var keyFrom      = 0
    var keyLength    = NoText
    var numberFrom   = 0
    var numberLength = 0
    var arrival      = 0L
    members = 0
    expect('{')
    var more = isNotEmpty('}')
    while (more) {
      readName()
      if (isText(Names.Data)) {
        once(Members.Data)
        readData()
      } else if (isText(Names.SequenceNumber)) {
        once(Members.Number)
        readText()
        checkNumber()
        numberFrom = textFrom
        numberLength = textLength
      } else if (isText(Names.PartitionKey)) {
        once(Members.Key)
        if (peek == '"') {
          readText()
          keyFrom = textFrom
          keyLength = textLength
        } else readNull()
      } else if (isText(Names.Arrival)) {
        once(Members.Arrival)
        arrival = readMillis()
      } else {
        once(Members.Encryption)
        check(isText(Names.Encryption), "a known member")
        readText()
      }
      more = goesOn('}')
    }
    check((members & Members.Required) == Members.Required, "a whole record")
    check(
      AnswerRecords.comesAfter(text, numberFrom, numberLength, text, beforeFrom, beforeLength),
      "records in their order"
    )
    beforeFrom = numberFrom
    beforeLength = numberLength
    packer.add(text, keyFrom, keyLength, text, numberFrom, numberLength, arrival)
  }

  private def once(member: Int): Unit = {
    check((members & member) == 0, "each member once")
    members |= member
  }

  private def readData(): Unit = {
    expect('"')
    val length = decode(piece, 0)
    if (isDataOver) packer.addData(piece, 0, length)
    else if (length + MostOfGroup < piece.length) packer.addData(piece, 0, length + decodeLast(piece, length))
    else {
      val all = new Array[Byte](length + (indexOfQuote - at) / 4 * 3)
      System.arraycopy(piece, 0, all, 0, length)
      val most = decode(all, length)
      val last = if (isDataOver) 0 else decodeLast(all, most)
      packer.addData(if (most + last == all.length) all else util.Arrays.copyOf(all, most + last))
    }
    expect('"')
  }

  private def isDataOver = at < until && text(at) == '"'

  /** As many groups of four characters as there is room for, up to padding or an end.
    *
    * @return where the bytes end
    */
  private def decode(to: Array[Byte], first: Int): Int = {
    var next = Base64Pairs.decode(text, at, until, to, first)
    at += (next - first) / 6 * 8
    var bits = 0
    while (bits >= 0 && at <= until - 4 && next <= to.length - 3) {
      bits = Base64Pairs.code(text(at), text(at + 1)) << 12 | Base64Pairs.code(text(at + 2), text(at + 3))
      if (bits >= 0) {
        to(next) = (bits >> 16).toByte
        to(next + 1) = (bits >> 8).toByte
        to(next + 2) = bits.toByte
        next += 3
        at += 4
      }
    }
    next
  }

  /** A group with padding.
    *
    * @return how many bytes it has
    */
  private def decodeLast(to: Array[Byte], next: Int): Int = {
    check(at <= until - 4 && text(at + 3) == '=', "base64 with padding")
    val isShort = text(at + 2) == '='
    val third   = if (isShort) 'A'.toByte else text(at + 2)
    val bits    = Base64Pairs.code(text(at), text(at + 1)) << 12 | Base64Pairs.code(third, 'A')
    check(bits >= 0, "base64")
    to(next) = (bits >> 16).toByte
    if (!isShort) to(next + 1) = (bits >> 8).toByte
    at += 4
    if (isShort) 1 else 2
  }

  private def indexOfQuote: Int = {
    var place = at
    while (place < until && text(place) != '"') place += 1
    place
  }

  private def checkNumber(): Unit =
    check(SequenceNumber.isNumber(text, textFrom, textFrom + textLength), "a sequence number")

  /** Seconds, of which thousandths count. */
  private def readMillis(): Long = {
    skipSpace()
    val begin   = at
    var seconds = 0L
    while (at < until && isDigit(text(at)) && at - begin < MostSecondDigits) {
      seconds = seconds * 10 + (text(at) - '0')
      at += 1
    }
    check(at > begin && (at == begin + 1 || text(begin) != '0'), "a number")
    var thousandths = 0L
    var unit        = 100
    if (at < until && text(at) == '.') {
      at += 1
      val point = at
      while (at < until && isDigit(text(at))) {
        thousandths += (text(at) - '0') * unit
        unit /= 10
        at += 1
      }
      check(at > point, "a fraction")
    }
    if (at < until && (isDigit(text(at)) || text(at) == 'e' || text(at) == 'E')) readExactMillis(begin)
    else seconds * 1000 + thousandths
  }

  /** With an exponent, as local servers write it. */
  private def readExactMillis(begin: Int): Long = {
    val number = Number.matcher(new String(text, begin, (until - begin).min(MostNumberCharacters), ISO_8859_1))
    check(number.lookingAt(), "a number")
    at = begin + number.end
    new java.math.BigDecimal(number.group).scaleByPowerOfTen(3).longValue
  }

  private def readNull(): Unit = {
    skipSpace()
    check(until - at >= Null.length && util.Arrays.equals(text, at, at + Null.length, Null, 0, Null.length), "null")
    at += Null.length
  }

  private def readName(): Unit = {
    readText()
    expect(':')
    skipSpace()
  }

  /** Text without escapes. */
  private def readText(): Unit = {
    expect('"')
    textFrom = at
    var isAscii = true
    while (at < until && text(at) != '"') {
      val byte = text(at)
      if (byte < ' ' || byte == '\\') {
        check(byte < 0, "text without escapes")
        isAscii = false
      }
      at += 1
    }
    textLength = at - textFrom
    expectHere('"')
    // It throws where they are none.
    if (!isAscii) UTF_8.newDecoder.decode(ByteBuffer.wrap(text, textFrom, textLength)): Unit
  }

  private def isText(name: Array[Byte]) =
    textLength == name.length && util.Arrays.equals(text, textFrom, textFrom + textLength, name, 0, name.length)

  /** Whatever it is: the SDK reads it. */
  private def skipValue(): Unit = {
    var depth = 0
    do peek match {
      case '"'                      => skipText()
      case '{' | '['                => depth += 1; at += 1
      case '}' | ']'                => depth -= 1; at += 1
      case (',' | ':') if depth > 0 => at += 1
      case _                        => skipWord()
    }
    while (depth > 0)
    check(depth == 0, "a value")
  }

  private def skipText(): Unit = {
    at += 1
    while (at < until && text(at) != '"') at += (if (text(at) == '\\') 2 else 1)
    check(at < until, "the end of a text")
    at += 1
  }

  private def skipWord(): Unit = {
    val begin = at
    while (at < until && isWord(text(at))) at += 1
    check(at > begin, "a value")
  }

  private def expect(byte: Char): Unit = {
    skipSpace()
    expectHere(byte)
  }

  private def expectHere(byte: Char): Unit = {
    check(at < until && text(at) == byte, "what JSON has")
    at += 1
  }

  /** Of an array or object that has just begun. */
  private def isNotEmpty(end: Char): Boolean = peek != end || {
    at += 1
    false
  }

  /** Whether a comma comes, and not the end. */
  private def goesOn(end: Char): Boolean = {
    val byte = peek
    check(byte == ',' || byte == end, "a comma or an end")
    at += 1
    byte == ','
  }

  /** The next byte that is no space. */
  private def peek: Int = {
    skipSpace()
    if (at < until) text(at).toInt else Nothing
  }

  private def skipSpace(): Unit = while (at < until && isSpace(text(at))) at += 1
}

private[reader] object JsonRecords {

  /** The records, and the JSON without them.
    *
    * @throws java.lang.Exception where it is not as expected
    */
  def split(json: ByteBuffer): (Array[KinesisRecord], Array[Byte]) = {
    val (bytes, from) =
      if (json.hasArray) (json.array, json.arrayOffset + json.position())
      else {
        val copy = new Array[Byte](json.remaining)
        json.duplicate().get(copy)
        (copy, 0)
      }
    new JsonRecords(bytes, from, from + json.remaining).split()
  }

  private def check(condition: Boolean, what: String): Unit =
    if (!condition) throw new IllegalArgumentException(what)

  private def isDigit(byte: Byte) = '0' <= byte && byte <= '9'
  private def isSpace(byte: Byte) = byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')
  private def isWord(byte: Byte)  =
    isDigit(byte) || 'a' <= byte && byte <= 'z' || byte == '-' || byte == '+' || byte == '.' || byte == 'E'

  private val Null      = "null".getBytes(ISO_8859_1)
  private val NoRecords = "[]".getBytes(ISO_8859_1)

  private val Number               = """\d+(\.\d+)?([eE][+-]?\d{1,2})?""".r.pattern
  private val MostNumberCharacters = 40

  /** Of seconds in a Long of milliseconds. */
  private val MostSecondDigits = 12

  private val NoText  = -1
  private val Nothing = -1

  /** Larger data are decoded into an array of their own. */
  private val PieceBytes = 12 << 10

  /** Bytes of one group. */
  private val MostOfGroup = 3
}
