package io.github.kinesisspark.aws

import java.nio.ByteBuffer
import java.util

import io.github.kinesisspark.aws.SdkDecoding.check

/** Reads the CBOR of one answer in the arrays that came from the network: a parser for all CBOR would copy the data once more, and make
  * characters of texts that are bytes again afterwards. What is unusual (text in pieces, say) is refused, and so is all that the SDK's
  * parser refuses.
  *
  * Every method throws where the bytes are not as expected.
  *
  * @param answer its bytes, in their order; they are not changed
  * @see [[https://www.rfc-editor.org/rfc/rfc8949.html RFC 8949]]
  */
private[kinesisspark] abstract class CborReader(answer: Iterable[ByteBuffer]) {
  import CborReader._

  /** None is empty, and each has an array. */
  private val pieces = answer.iterator.filter(_.hasRemaining).map(inArray).toArray

  /** Of all bytes. */
  protected final val length: Int = pieces.map(_.remaining).sum

  // The piece that is being read.
  private var piece = 0
  private var bytes = NoBytes
  private var at    = 0
  private var until = 0

  // Of all bytes, those behind this piece.
  private var behind = length

  // What the last head says.
  private var major    = 0
  private var short    = 0
  private var argument = 0L

  /** The text that was read last, or the bytes: an array, where they begin there, and how many they are. */
  protected final var text: Array[Byte] = NoBytes
  protected final var textFrom          = 0
  protected final var textLength        = 0

  /** Whether that array has nothing else, and nobody else has it. */
  protected final var isTextCopy = false

  /** For bytes that lie in two pieces, until the next are read. */
  private lazy val scratch = new Array[Byte](ScratchBytes)

  private def left = behind + until - at

  /** Reads an object to its end.
    *
    * @param member     of the object, which has it once
    * @param texts      members that are texts; the SDK takes the members of an object in place of a text for those of the whole
    * @param readMember reads the member's value
    * @return what that value is, and the bytes of the object with an empty list in its place
    */
  protected final def split[A](member: Array[Byte], texts: Array[Byte]*)(readMember: => A): (A, Array[Byte]) = {
    var found   = Option.empty[A]
    var begin   = 0
    var end     = 0
    var members = readMap()
    while (goesOn(members)) {
      members -= 1
      readText()
      if (isText(member)) {
        check(found.isEmpty, "each member once")
        begin = length - left
        found = Some(readMember)
        end = length - left
      } else if (texts.exists(isText)) readTextOrNull(): Unit
      else skipMember()
    }
    check(left == 0, "nothing behind the object")
    val all  = found.getOrElse(SdkDecoding.unexpected("records"))
    val rest = ByteBuffer.allocate(length - (end - begin) + 1)
    copy(0, begin, rest)
    rest.put(EmptyArray)
    copy(end, length, rest)
    (all, rest.array)
  }

  /** Begins a list.
    *
    * @return how many elements are to come, for [[goesOn]]
    */
  protected final def readList(): Long = readBegin(ListOf)

  /** Begins a map.
    *
    * @return how many members are to come, for [[goesOn]]
    */
  protected final def readMap(): Long = readBegin(MapOf)

  private def readBegin(kind: Int): Long = {
    readHead()
    check(major == kind, if (kind == MapOf) "an object" else "a list")
    argument
  }

  /** @param members that are to come, or negative where a break ends them */
  protected final def goesOn(members: Long): Boolean =
    if (members >= 0) members > 0
    else {
      if (at == until) nextPiece()
      val isOver = bytes(at) == Break
      if (isOver) at += 1
      !isOver
    }

  protected final def readText(): Unit = {
    readHead()
    takeText()
  }

  /** @return whether there is a text, which is in UTF-8, and not null */
  protected final def readTextOrNull(): Boolean = {
    readHead()
    val isThere = !(major == Simple && short == Null)
    if (isThere) {
      takeText()
      checkUtf8()
    }
    isThere
  }

  private def takeText(): Unit = {
    takeAll(Text)
    check(textLength <= MostTextBytes, "shorter text")
  }

  protected final def isText(name: Array[Byte]): Boolean =
    textLength == name.length && util.Arrays.equals(text, textFrom, textFrom + textLength, name, 0, name.length)

  /** A time. The tag for times means seconds by the RFC. Kinesis and the SDK write it before milliseconds, and the SDK reads milliseconds with
    * and without it.
    *
    * @see [[https://github.com/aws/aws-sdk-java-v2/issues/184 times in the SDK]]
    */
  protected final def readMillis(): Long = {
    readHeadOfTime()
    check(major == Unsigned, "a time in milliseconds")
    argument
  }

  /** They stay until the next bytes are read, unless they are a copy of their own. */
  protected final def readBytes(): Unit = {
    readHead()
    takeAll(Bytes)
  }

  /** The value of a member whose name was just read and isn't known. */
  protected final def skipMember(): Unit = skipMember(MostDepth)

  private def skipMember(depth: Int): Unit = {
    // The SDK's parser takes some bytes that are no UTF-8 for a name that is known.
    checkUtf8()
    skipValue(depth)
  }

  private def skipValue(depth: Int): Unit = {
    check(depth > 0, "fewer values in one another")
    readHeadOfTime()
    major match {
      case Bytes | Text =>
        check(argument != Endless, "text or bytes in one piece")
        take(lengthHere())
      case ListOf =>
        var values = argument
        while (goesOn(values)) {
          values -= 1
          skipValue(depth - 1)
        }
      case MapOf =>
        var members = argument
        while (goesOn(members)) {
          members -= 1
          readText()
          skipMember(depth - 1)
        }
      case _ => check(major != Tag, "no tag but that of times")
    }
  }

  /** After its head: a view of the piece, or a copy where it lies in two. */
  private def takeAll(kind: Int): Unit = {
    check(major == kind && argument != Endless, "text or bytes in one piece")
    textLength = lengthHere()
    val isHere = textLength <= until - at
    isTextCopy = !isHere && (kind == Text || textLength > ScratchBytes)
    if (isHere) {
      text = bytes
      textFrom = at
      at += textLength
    } else {
      text = if (isTextCopy) new Array[Byte](textLength) else scratch
      textFrom = 0
      take(textLength, text)
    }
  }

  /** @param to where the bytes go; left out, they are passed over */
  private def take(length: Int, to: Array[Byte] = NoBytes): Unit = {
    var done = 0
    while (done < length) {
      if (at == until) nextPiece()
      val some = (until - at).min(length - done)
      if (to ne NoBytes) System.arraycopy(bytes, at, to, done, some)
      at += some
      done += some
    }
  }

  private def checkUtf8(): Unit = SdkDecoding.checkUtf8(text, textFrom, textLength)

  /** The length that the last head says, of bytes that are there. */
  private def lengthHere(): Int = {
    check(argument <= left, "as many bytes as it says")
    argument.toInt
  }

  /** The head of what may be a time. */
  private def readHeadOfTime(): Unit = {
    readHead()
    if (major == Tag && argument == Time) readHead()
  }

  /** Reads what kind of value comes, and its number, length, count of members, or tag. */
  private def readHead(): Unit = {
    val head = readByte()
    major = head >> 5
    short = head & 0x1f
    if (major == Simple)
      check((False <= short && short <= Null) || (short >= HalfFloat && short <= DoubleFloat), "a usual value")
    if (short < 24) argument = short.toLong
    else if (short <= 27) readArgument(1 << (short - 24))
    else {
      check(short == 31 && Bytes <= major && major <= MapOf, "a value")
      argument = Endless
    }
  }

  private def readArgument(length: Int): Unit = {
    argument = 0
    var n = length
    while (n > 0) {
      argument = argument << 8 | readByte()
      n -= 1
    }
    check(argument >= 0 || major == Simple, "a number of 63 bits")
  }

  private def readByte(): Int = {
    if (at == until) nextPiece()
    val byte = bytes(at) & 0xff
    at += 1
    byte
  }

  private def nextPiece(): Unit = {
    check(behind > 0, "more bytes")
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

private[kinesisspark] object CborReader {

  private def inArray(piece: ByteBuffer) =
    if (piece.hasArray) piece else ByteBuffer.allocate(piece.remaining).put(piece.duplicate()).flip()

  // Kinds of values: https://www.rfc-editor.org/rfc/rfc8949.html#section-3.1
  private final val Unsigned = 0
  private final val Bytes    = 2
  private final val Text     = 3
  private final val ListOf   = 4
  private final val MapOf    = 5
  private final val Tag      = 6
  private final val Simple   = 7

  // Of the kind `Simple`.
  private final val False       = 20
  private final val Null        = 22
  private final val HalfFloat   = 25
  private final val DoubleFloat = 27

  /** The tag of times. */
  private val Time = 1L

  private val Break      = 0xff.toByte
  private val EmptyArray = 0x80.toByte

  /** In place of a length or count: a break ends it. */
  private val Endless = -1L

  private val NoBytes = new Array[Byte](0)

  private val ScratchBytes = 16 << 10

  /** Of values that nobody asked for. The SDK's parser has a limit of 1,000. */
  private val MostDepth = 32

  /** Of a name or a text that is asked for. The SDK's parser has limits from 50,000 on. */
  private val MostTextBytes = 16 << 10
}
