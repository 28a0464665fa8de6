package io.github.kinesisspark.aws

import java.nio.{ByteBuffer, CharBuffer}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util
import java.util.regex.Pattern

import io.github.kinesisspark.aws.SdkDecoding.check

/** Reads the JSON of one answer, or of one event of a subscription, from byte to byte: a parser for all JSON would make characters of the
  * data first, and decode base64 from these. What such a parser would read in another way, or refuse, is refused here.
  *
  * Every method throws where the bytes are not as expected.
  *
  * @param json its bytes, which are not changed
  * @see [[https://www.rfc-editor.org/rfc/rfc8259.html RFC 8259]]
  */
private[kinesisspark] abstract class JsonReader(json: ByteBuffer) {
  import JsonReader._

  private val from  = if (json.hasArray) json.arrayOffset + json.position() else 0
  private val until = from + json.remaining

  private var at = from

  /** Of all bytes. */
  protected final val length: Int = until - from

  /** Where the text that was read last begins, and how many bytes it has. */
  protected final val text: Array[Byte] = inArray(json)
  protected final var textFrom          = 0
  protected final var textLength        = 0

  /** The bytes that were read last: an array that they begin, and how many they are. */
  protected final var bytes: Array[Byte] = new Array[Byte]((length / 4 * 3).min(PieceBytes))
  protected final var bytesLength        = 0

  /** Whether that array has nothing else, and nobody else has it. */
  protected final var isBytesCopy = false

  private val scratch = bytes

  /** Reads an object to its end.
    *
    * @param member     of the object, which has it once
    * @param inPlace    of the member's value; JSON as well
    * @param texts      members that are texts; the SDK takes the members of an object in place of a text for those of the whole
    * @param readMember reads the member's value
    * @return what that value is, and the bytes of the object with the other value in its place
    */
  protected final def split[A](member: Array[Byte], inPlace: Array[Byte], texts: Array[Byte]*)(
      readMember: => A
  ): (A, Array[Byte]) = {
    var found = Option.empty[A]
    var begin = 0
    var end   = 0
    var more  = beginObject()
    while (more) {
      readName()
      if (isText(member)) {
        check(found.isEmpty, "each member once")
        begin = at
        found = Some(readMember)
        end = at
      } else {
        if (texts.exists(isText)) check(peek == '"' || peek == 'n', "text or null")
        skipMember()
      }
      more = isNextMember()
    }
    skipSpace()
    check(at == until, "nothing behind the object")
    val all  = found.getOrElse(SdkDecoding.unexpected("records"))
    val rest = ByteBuffer.allocate(length - (end - begin) + inPlace.length)
    rest.put(text, from, begin - from).put(inPlace).put(text, end, until - end)
    (all, rest.array)
  }

  /** Begins a list.
    *
    * @return whether it has an element
    */
  protected final def beginList(): Boolean = {
    expect('[')
    isNotEmpty(']')
  }

  /** After an element. */
  protected final def isNextElement(): Boolean = goesOn(']')

  /** Begins an object.
    *
    * @return whether it has a member
    */
  protected final def beginObject(): Boolean = {
    expect('{')
    isNotEmpty('}')
  }

  /** After a member. */
  protected final def isNextMember(): Boolean = goesOn('}')

  protected final def readName(): Unit = {
    readText()
    expect(':')
    skipSpace()
  }

  protected final def readText(): Unit = check(readPlainText(), "text without escapes")

  /** @return the array that has the text, which may be written with escapes, or null if null is there */
  protected final def readTextOrNull(): Array[Byte] =
    if (peek != '"') {
      readWord(Null)
      null
    } else if (readPlainText()) text
    else readEscapedText()

  /** @return false at the first escape */
  private def readPlainText(): Boolean = {
    expect('"')
    textFrom = at
    var isAscii = true
    while (at < until && text(at) != '"' && text(at) != '\\') {
      if (text(at) < ' ') {
        check(text(at) < 0, "text without control characters")
        isAscii = false
      }
      at += 1
    }
    textLength = at - textFrom
    val isPlain = at >= until || text(at) == '"'
    if (isPlain) {
      expectHere('"')
      check(textLength <= MostTextBytes, "shorter text")
      if (!isAscii) SdkDecoding.checkUtf8(text, textFrom, textLength)
    }
    isPlain
  }

  /** The text in which an escape was found. */
  private def readEscapedText(): Array[Byte] = {
    at = textFrom - 1
    skipText()
    val written = at - textFrom + 1
    check(written <= MostTextBytes, "shorter text")
    val plain = ujson.read(new String(text, textFrom - 1, written, UTF_8)).str
    // Half of a surrogate pair is no text.
    val utf8 = UTF_8.newEncoder.encode(CharBuffer.wrap(plain))
    textFrom = 0
    textLength = utf8.remaining
    utf8.array
  }

  protected final def isText(name: Array[Byte]): Boolean =
    textLength == name.length && util.Arrays.equals(text, textFrom, textFrom + textLength, name, 0, name.length)

  /** The bytes of a text in base64. They stay until the next are read, unless they are a copy of their own. */
  protected final def readBytes(): Unit = {
    expect('"')
    bytes = scratch
    bytesLength = decode(scratch, 0)
    isBytesCopy = !isTextOver && bytesLength + MostOfGroup >= scratch.length
    if (isBytesCopy) readMoreBytes()
    else if (!isTextOver) bytesLength += decodeLast(scratch, bytesLength)
    expectHere('"')
  }

  /** Those that the scratch has no room for. */
  private def readMoreBytes(): Unit = {
    val all = new Array[Byte](bytesLength + (Base64Pairs.endOfText(text, at, until) - at) / 4 * 3)
    System.arraycopy(scratch, 0, all, 0, bytesLength)
    val most = decode(all, bytesLength)
    bytesLength = most + (if (isTextOver) 0 else decodeLast(all, most))
    bytes = if (bytesLength == all.length) all else util.Arrays.copyOf(all, bytesLength)
  }

  private def isTextOver = at < until && text(at) == '"'

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

  /** A time in seconds, of which thousandths count. */
  protected final def readMillis(): Long = {
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

  /** The value of a member whose name was just read and isn't known. */
  protected final def skipMember(): Unit = skipValue(MostDepth)

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

private[kinesisspark] object JsonReader {

  private def inArray(json: ByteBuffer) =
    if (json.hasArray) json.array
    else {
      val copy = new Array[Byte](json.remaining)
      json.duplicate().get(copy)
      copy
    }

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
