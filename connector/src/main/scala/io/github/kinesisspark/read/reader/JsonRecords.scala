package io.github.kinesisspark.read.reader

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util
import java.util.regex.Pattern

import io.github.kinesisspark.aws.SdkDecoding
import io.github.kinesisspark.aws.SdkDecoding.check
import io.github.kinesisspark.position.SequenceNumber
import io.github.kinesisspark.read.reader.AnswerMembers.{Members, Names}
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

  private def split(inPlace: Array[Byte]): (Array[KinesisRecord], Array[Byte]) = {
    var records = Option.empty[Array[KinesisRecord]]
    var begin   = 0
    var end     = 0
    expect('{')
    var more = isNotEmpty('}')
    while (more) {
      readName()
      if (isText(Names.Records)) {
        check(records.isEmpty, "each member once")
        begin = at
        records = Some(readRecords())
        end = at
      } else {
        // The SDK takes the members of an object in place of a text for those of the whole.
        if (isText(Names.Iterator) || isText(Names.Continuation)) check(peek == '"' || peek == 'n', "text or null")
        skipValue(MostDepth)
      }
      more = goesOn('}')
    }
    skipSpace()
    check(at == until, "nothing behind the object")
    val all  = records.getOrElse(SdkDecoding.unexpected("records"))
    val rest = ByteBuffer.allocate(until - from - (end - begin) + inPlace.length)
    rest.put(text, from, begin - from).put(inPlace).put(text, end, until - end)
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
        if (readTextOrNull()) {
          keyFrom = textFrom
          keyLength = textLength
        }
      } else if (isText(Names.Arrival)) {
        once(Members.Arrival)
        arrival = readMillis()
      } else if (isText(Names.Encryption)) {
        once(Members.Encryption)
        readTextOrNull(): Unit
      } else skipValue(MostDepth)
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
    expectHere('"')
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
    val isExact = at < until && (isDigit(text(at)) || text(at) == 'e' || text(at) == 'E')
    val millis  = if (isExact) readExactMillis(begin) else seconds * 1000 + thousandths
    check(at - begin <= MostTimeCharacters, "a shorter number")
    millis
  }

  /** With an exponent, as local servers write it. */
  private def readExactMillis(begin: Int): Long = {
    at = begin
    new java.math.BigDecimal(readNumber(Time)).scaleByPowerOfTen(3).longValue
  }

  private def readNumber(form: Pattern): String = {
    val number = form.matcher(new String(text, at, (until - at).min(MostNumberCharacters), ISO_8859_1))
    check(number.lookingAt(), "a number")
    at += number.end
    number.group
  }

  private def readWord(word: Array[Byte]): Unit = {
    check(until - at >= word.length && util.Arrays.equals(text, at, at + word.length, word, 0, word.length), "a value")
    at += word.length
  }

  /** @return whether there is a text, and not null */
  private def readTextOrNull(): Boolean = {
    val isThere = peek == '"'
    if (isThere) readText() else readWord(Null)
    isThere
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
    check(textLength <= MostTextBytes, "shorter text")
    if (!isAscii) SdkDecoding.checkUtf8(text, textFrom, textLength)
  }

  private def isText(name: Array[Byte]) =
    textLength == name.length && util.Arrays.equals(text, textFrom, textFrom + textLength, name, 0, name.length)

  /** A value that nobody asked for. It is checked, because the SDK doesn't see those of records. */
  private def skipValue(depth: Int): Unit = {
    check(depth > 0, "fewer values in one another")
    peek match {
      case '"' => skipText()
      case 'n' => readWord(Null)
      case 't' => readWord(True)
      case 'f' => readWord(False)
      case '[' => skipAll(']')(skipValue(depth - 1))
      case '{' =>
        skipAll('}') {
          readName()
          skipValue(depth - 1)
        }
      case _ => readNumber(Number): Unit
    }
  }

  private def skipAll(end: Char)(skipOne: => Unit): Unit = {
    at += 1
    var more = isNotEmpty(end)
    while (more) {
      skipOne
      more = goesOn(end)
    }
  }

  private def skipText(): Unit = {
    expectHere('"')
    val begin = at
    while (at < until && text(at) != '"') {
      check(text(at) >= ' ' || text(at) < 0, "text without control characters")
      at += 1
      if (text(at - 1) == '\\') skipEscape()
    }
    SdkDecoding.checkUtf8(text, begin, at - begin)
    expectHere('"')
  }

  private def skipEscape(): Unit = {
    val digits = if (at < until && text(at) == 'u') 4 else 0
    check(at < until - digits, "an escape")
    check(if (digits > 0) areHex(at + 1, digits) else "\"\\/bfnrt".indexOf(text(at).toInt) >= 0, "an escape")
    at += 1 + digits
  }

  private def areHex(begin: Int, length: Int) =
    (begin until begin + length).forall(i => Character.digit(text(i) & 0xff, 16) >= 0)

  private def expect(byte: Char): Unit = {
    skipSpace()
    expectHere(byte)
  }

  private def expectHere(byte: Char): Unit = {
    if (at >= until || text(at) != byte) SdkDecoding.unexpected(nameOf(byte))
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

private[kinesisspark] object JsonRecords {

  /** The records, and the JSON without them.
    *
    * @param inPlace of the records; JSON as well
    * @throws java.lang.Exception where it is not as expected
    */
  def split(json: ByteBuffer, inPlace: Array[Byte]): (Array[KinesisRecord], Array[Byte]) = {
    val (bytes, from) =
      if (json.hasArray) (json.array, json.arrayOffset + json.position())
      else {
        val copy = new Array[Byte](json.remaining)
        json.duplicate().get(copy)
        (copy, 0)
      }
    new JsonRecords(bytes, from, from + json.remaining).split(inPlace)
  }

  val NoRecords: Array[Byte] = "[]".getBytes(ISO_8859_1)

  /** Of what begins with a character. */
  private def nameOf(begin: Char) = begin match {
    case '{' => "an object"
    case '[' => "a list"
    case '"' => "a text"
    case _   => s"'$begin'"
  }

  private def isDigit(byte: Byte) = '0' <= byte && byte <= '9'
  private def isSpace(byte: Byte) = byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')

  private val Null  = "null".getBytes(ISO_8859_1)
  private val True  = "true".getBytes(ISO_8859_1)
  private val False = "false".getBytes(ISO_8859_1)

  private val Number               = """-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?""".r.pattern
  private val Time                 = """\d+(\.\d+)?([eE][+-]?\d{1,2})?""".r.pattern
  private val MostNumberCharacters = 40

  /** The SDK refuses more. */
  private val MostTimeCharacters = 20

  /** Of seconds in a Long of milliseconds. */
  private val MostSecondDigits = 12

  private val NoText  = -1
  private val Nothing = -1

  /** Of values that nobody asked for. The SDK's parser has a limit of 1,000. */
  private val MostDepth = 32

  /** Of a name or a text that is asked for. The SDK's parser has limits from 65,535 on. */
  private val MostTextBytes = 16 << 10

  /** Larger data are decoded into an array of their own. */
  private val PieceBytes = 12 << 10

  /** Bytes of one group. */
  private val MostOfGroup = 3
}
