package io.github.kinesisspark.read.reader

import java.io.{ByteArrayOutputStream, InputStream, OutputStream}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.Try

import org.reactivestreams.{Publisher, Subscriber, Subscription => Flow}
import software.amazon.awssdk.http.SdkHttpResponse
import software.amazon.awssdk.services.kinesis.model.GetRecordsResponse
import software.amazon.awssdk.thirdparty.jackson.core.{JsonFactory, JsonParser, JsonToken}
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

import io.github.kinesisspark.aws.AnswerBytes
import io.github.kinesisspark.position.{SequenceNumber, ShardPosition}
import io.github.kinesisspark.read.reader.AnswerBody._

/** The body of one answer to GetRecords. Its records are packed as they are read from the bytes that came; the SDK would copy all bytes into
  * one array, make several objects of each record, and leave them to the garbage collector. It gets the answer without its records.
  *
  * An answer that is in any way not as expected is the SDK's as it came, so what is wrong with it is found and said in one place.
  */
final class AnswerBody extends AnswerBytes {
  @volatile private var read = Option.empty[Array[KinesisRecord]]

  /** Those after a position.
    *
    * @param answer what the SDK made of the body
    * @throws io.github.kinesisspark.aws.DamagedAnswer where something is missing in them, or they are out of order
    */
  def records(answer: GetRecordsResponse, position: ShardPosition): Array[KinesisRecord] =
    read.fold(KinesisRecord.after(position, answer.records))(KinesisRecord.after(position, _))

  override def through(answer: SdkHttpResponse, bytes: Publisher[ByteBuffer]): Publisher[ByteBuffer] = {
    val limited = AnswerBytes.Limited.through(answer, bytes)
    Option(answer.firstMatchingHeader("Content-Type").orElse(null))
      .filter(_ => answer.isSuccessful && !isEncoded(answer))
      .flatMap(format)
      .fold(limited)(format => to => limited.subscribe(new Collector(format, to)))
  }

  /** Waits for the whole body. */
  private final class Collector(format: JsonFactory, to: Subscriber[_ >: ByteBuffer]) extends Subscriber[ByteBuffer] {
    private val chunks = mutable.ArrayBuffer.empty[ByteBuffer]

    override def onSubscribe(flow: Flow): Unit = to.onSubscribe(new Flow {
      // Whoever wants any of it wants all.
      override def request(some: Long): Unit = flow.request(Long.MaxValue)
      override def cancel(): Unit            = flow.cancel()
    })
    override def onNext(bytes: ByteBuffer): Unit = chunks += bytes
    override def onError(cause: Throwable): Unit = to.onError(cause)
    override def onComplete(): Unit              =
      // An Error would be lost in the SDK's thread.
      try {
        val rest = Try(split(format, new Chunks(chunks))).toOption.map { case (records, rest) =>
          read = Some(records)
          ByteBuffer.wrap(rest)
        }
        if (chunks.nonEmpty) to.onNext(rest.getOrElse(joined(chunks)))
        to.onComplete()
      } catch { case unexpected: Throwable => to.onError(unexpected) }
  }
}

private[reader] object AnswerBody {
  private val json = new JsonFactory
  private val cbor = new CBORFactory

  /** By its media type. */
  private[reader] def format(contentType: String): Option[JsonFactory] =
    if (contentType.contains("cbor")) Some(cbor) else if (contentType.contains("json")) Some(json) else None

  /** Compressed, or with a checksum that the SDK compares with the body it sees. */
  private def isEncoded(answer: SdkHttpResponse) =
    answer.firstMatchingHeader("Content-Encoding").isPresent || answer.firstMatchingHeader("x-amz-crc32").isPresent

  private def joined(chunks: mutable.ArrayBuffer[ByteBuffer]) = {
    val all = ByteBuffer.allocate(chunks.iterator.map(_.remaining).sum)
    chunks.foreach(chunk => all.put(chunk.duplicate()))
    all.flip()
    all
  }

  /** The records, and the body without them.
    *
    * @throws java.lang.Exception where the body is not as expected
    */
  private[reader] def split(format: JsonFactory, body: Chunks): (Array[KinesisRecord], Array[Byte]) = {
    val rest      = new ByteArrayOutputStream
    val parser    = format.createParser(body)
    val generator = format.createGenerator(rest)
    var records   = Option.empty[Array[KinesisRecord]]
    expect(parser.nextToken() == JsonToken.START_OBJECT, "an object")
    generator.writeStartObject()
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val name = parser.currentName
      generator.writeFieldName(name)
      if (parser.nextToken() == JsonToken.START_ARRAY && name == "Records") {
        expect(records.isEmpty, "records once")
        records = Some(new RecordsReader(parser, body, isCbor = format.isInstanceOf[CBORFactory]).read())
        generator.writeStartArray()
        generator.writeEndArray()
      } else generator.copyCurrentStructure(parser)
    }
    expect(parser.currentToken == JsonToken.END_OBJECT && parser.nextToken() == null, "its end")
    generator.close()
    (records.getOrElse(throw new IllegalArgumentException("no records")), rest.toByteArray)
  }

  private def expect(condition: Boolean, what: String): Unit =
    if (!condition) throw new IllegalArgumentException(s"expected $what")

  /** Bytes that came in parts. */
  private[reader] final class Chunks(chunks: collection.Seq[ByteBuffer]) extends InputStream {
    private val remaining = chunks.iterator.map(_.duplicate()).filter(_.hasRemaining)
    private var current   = if (remaining.hasNext) remaining.next() else ByteBuffer.allocate(0)
    private var left      = chunks.iterator.map(_.remaining).sum

    /** That have not been taken. */
    override def available: Int = left

    override def read(): Int = if (isOver) -1
    else {
      left -= 1
      current.get() & 0xff
    }

    override def read(to: Array[Byte], offset: Int, length: Int): Int =
      if (length == 0) 0
      else if (isOver) -1
      else {
        val some = length.min(current.remaining)
        current.get(to, offset, some)
        left -= some
        some
      }

    private def isOver = {
      if (!current.hasRemaining && remaining.hasNext) current = remaining.next()
      !current.hasRemaining
    }
  }

  /** Reads an array of records, of which the parser has just met the beginning. What one record needs is made once for all of them.
    *
    * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html Record]]
    */
  private final class RecordsReader(parser: JsonParser, body: Chunks, isCbor: Boolean) {
    private val packer = new AnswerRecords.Packer(body.available + ParserBuffer)

    private val data = new OutputStream {
      override def write(byte: Int): Unit                                    = write(Array(byte.toByte), 0, 1)
      override def write(bytes: Array[Byte], offset: Int, length: Int): Unit =
        packer.addData(bytes, offset, length, body.available + ParserBuffer)
    }
    private var key          = new Array[Byte](MostKeyCharacters)
    private var keyLength    = NoKey
    private var number       = new Array[Byte](SequenceNumber.MostDigits)
    private var numberLength = 0
    private var before       = new Array[Byte](SequenceNumber.MostDigits)
    private var beforeLength = 0

    def read(): Array[KinesisRecord] = {
      while (parser.nextToken() != JsonToken.END_ARRAY) readRecord()
      packer.result()
    }

    private def readRecord(): Unit = {
      expect(parser.currentToken == JsonToken.START_OBJECT, "a record")
      var arrival = Option.empty[Long]
      var hasData = false
      keyLength = NoKey
      numberLength = 0
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val name  = parser.currentName
        val token = parser.nextToken()
        name match {
          case "Data" =>
            expect(!hasData && token != JsonToken.VALUE_NULL, "data once")
            parser.readBinaryValue(data)
            hasData = true
          case "SequenceNumber"                                => readNumber(token)
          case "PartitionKey" if token != JsonToken.VALUE_NULL => readKey(token)
          case "ApproximateArrivalTimestamp"                   => arrival = Some(millis(token))
          case _                                               => parser.skipChildren(): Unit
        }
      }
      expect(parser.currentToken == JsonToken.END_OBJECT && hasData && numberLength > 0, "a whole record")
      expect(
        AnswerRecords.comesAfter(number, 0, numberLength, before, 0, beforeLength),
        "records in their order"
      )
      packer.add(key, 0, keyLength, number, 0, numberLength, arrival.get)
      swapNumbers()
    }

    private def readNumber(token: JsonToken): Unit = {
      expect(token == JsonToken.VALUE_STRING, "a sequence number")
      val characters = parser.getTextCharacters
      val offset     = parser.getTextOffset
      val length     = parser.getTextLength
      expect(length <= SequenceNumber.MostDigits, "so many digits")
      var i = 0
      while (i < length) {
        val character = characters(offset + i)
        number(i) = if (character < 128) character.toByte else '?'
        i += 1
      }
      expect(SequenceNumber.isNumber(number, 0, length), "a sequence number")
      numberLength = length
    }

    private def readKey(token: JsonToken): Unit = {
      expect(token == JsonToken.VALUE_STRING, "a key")
      val characters = parser.getTextCharacters
      val offset     = parser.getTextOffset
      val length     = parser.getTextLength
      if (key.length < length) key = new Array[Byte](length)
      var i = 0
      while (i < length && characters(offset + i) < 0x80) {
        key(i) = characters(offset + i).toByte
        i += 1
      }
      keyLength = length
      if (i < length) {
        key = new String(characters, offset, length).getBytes(UTF_8)
        keyLength = key.length
      }
    }

    /** CBOR has milliseconds, JSON seconds. */
    private def millis(token: JsonToken): Long =
      if (!isCbor) parser.getDecimalValue.scaleByPowerOfTen(3).longValue
      else {
        expect(token == JsonToken.VALUE_NUMBER_INT, "milliseconds")
        parser.getLongValue
      }

    private def swapNumbers(): Unit = {
      val free = before
      before = number
      beforeLength = numberLength
      number = free
    }
  }

  private val NoKey = -1

  /** Bytes that the parser has taken of the body and nobody has seen. */
  private val ParserBuffer = 8 << 10

  /** Of a key in ASCII. */
  private val MostKeyCharacters = 256
}
