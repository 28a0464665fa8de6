package io.github.kinesisspark.fuzz

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util
import java.util.Base64

import scala.util.{Failure, Random, Success, Try}

import software.amazon.awssdk.core.SdkPojo
import software.amazon.awssdk.services.kinesis.model.Record

import io.github.kinesisspark.aws.BodyExtractor
import io.github.kinesisspark.position.ShardPosition
import io.github.kinesisspark.read.reader.{JsonRecords, KinesisRecord, RecordExtractor}

/** A decoder of the connector beside the SDK's, on the same bytes. In a body that the connector's takes, the SDK finds the same records, and the
  * same beside them in what is left for it; or it refuses both. A body that the connector's refuses is the SDK's as it came.
  *
  * An input begins with five bytes: how the body is cut; how large the record is that it begins with, if there is one; and where a byte of that
  * record is changed, and how. The others are the body, or continue it.
  */
private[fuzz] abstract class SameAsSdk(override val name: String) extends Target {

  /** Of the connector, by the first bytes of the input. */
  protected def decoders(input: Array[Byte]): SameAsSdk.Decoders

  /** A body that has begun with one record, the first of others. */
  protected def begun(data: Array[Byte]): Array[Byte]

  /** What may follow on [[begun]], and bodies. */
  protected def ends: Seq[Array[Byte]]
  protected def bodies: Seq[Array[Byte]]

  private lazy val begunBodies = SameAsSdk.LargeData.map(begunWith)
  private lazy val begunSmall  = begunWith(100)

  private def begunWith(size: Int) = {
    val data = new Array[Byte](size)
    new Random(size).nextBytes(data)
    begun(data)
  }

  /** Large records are as large as they say in one of 512 inputs, because each takes as long as a thousand others. */
  override def check(input: Array[Byte]): Unit =
    if (input.length >= SameAsSdk.Head) check(input, isFull = util.Arrays.hashCode(input) % 512 == 0): Unit

  /** @param isFull whether a large record is as large as it says
    * @return whether the connector's decoder takes the body
    */
  private[fuzz] def check(input: Array[Byte], isFull: Boolean): Boolean = {
    val body  = bodyOf(input, isFull)
    val both  = decoders(input)
    val taken = both.split(cut(body, input(0) & 0xff))
    taken.foreach { case (ours, rest) =>
      val left = both.sdk.decode(rest)
      both.sdk.decode(body) match {
        case Failure(refused)           => Broken.unless(left.isFailure)(s"the SDK refuses it: $refused")
        case Success((records, others)) =>
          SameAsSdk.compare(ours, records)
          Broken.unless(left.toOption.exists(_._2 == others))(s"beside the records is $others, and $left is left")
          Broken.unless(left.get._1.size <= 1)(s"the SDK gets records: $left")
      }
    }
    taken.isDefined
  }

  /** Inputs that have a value alone, and as each member of an answer. */
  private[fuzz] def around(value: Array[Byte]): Seq[Array[Byte]] =
    for (way <- Seq[Byte](0, 1); body <- value +: bodiesWith(value)) yield Array[Byte](way, 0, 0, 0, 0) ++ body

  protected def bodiesWith(value: Array[Byte]): Seq[Array[Byte]]

  private def bodyOf(input: Array[Byte], isFull: Boolean): Array[Byte] = {
    val rest = input.drop(SameAsSdk.Head)
    begunBodies.lift(0xff - (input(1) & 0xff)).fold(rest) { large =>
      val first = if (isFull) large else begunSmall
      val all   = first ++ rest
      val at    = ((((input(2) & 0xff) << 8) | (input(3) & 0xff)).toLong * first.length >> 16).toInt
      all(at) = (all(at) ^ input(4)).toByte
      all
    }
  }

  private def cut(body: Array[Byte], way: Int): Seq[ByteBuffer] =
    if (way < 128) Seq(ByteBuffer.wrap(body))
    else {
      // In few pieces where it is large.
      val piece = (way - 127) * (1 + body.length / 4096)
      (0 until body.length by piece).map(from => ByteBuffer.wrap(body, from, piece.min(body.length - from)))
    }

  final override def seeds: Seq[Array[Byte]] =
    (for (way <- Seq[Byte](0, 1, -100); body <- bodies) yield Array[Byte](way, 0, 0, 0, 0) ++ body) ++
      (for (way <- Seq[Byte](-2, -1); end <- ends; large <- SameAsSdk.LargeData.indices)
        yield Array[Byte](way, (0xff - large).toByte, 0, 0, 0) ++ end)
}

private[fuzz] object SameAsSdk {

  /** @param split records and what is left for the SDK; None where the body is the SDK's */
  final case class Decoders(
      split: Seq[ByteBuffer] => Option[(Array[KinesisRecord], Array[Byte])],
      sdk: SdkDecoder[_ <: SdkPojo]
  )

  def ofAnswers(mediaType: String, sdk: SdkDecoder[_ <: SdkPojo]): Decoders = {
    val split = RecordExtractor.splitter(mediaType).get
    Decoders(body => Try(split(body)).toOption, sdk)
  }

  /** Bytes of the data of large records: around what decoders take in one piece, and up to the largest record of most streams. */
  val LargeData: Vector[Int] = Vector(12 << 10, (16 << 10) + 1, 100 << 10, 256 << 10, 1 << 20)

  val Head = 5

  /** All that the connector knows of records. */
  def compare(ours: Array[KinesisRecord], sdks: util.List[Record]): Unit = {
    val theirs = Try(KinesisRecord.after(ShardPosition.TrimHorizon, sdks))
      .getOrElse(throw new Broken(s"the SDK's records are damaged: $sdks"))
    Broken.unless(ours.length == theirs.length)(s"${ours.length} records, by the SDK ${theirs.length}")
    for ((a, b) <- ours.zip(theirs)) {
      Broken.unless(a.sequenceNumber == b.sequenceNumber)(s"number ${a.sequenceNumber}, by the SDK ${b.sequenceNumber}")
      Broken.unless(a.partitionKey == b.partitionKey)(s"key '${a.partitionKey}', by the SDK '${b.partitionKey}'")
      Broken.unless(a.arrivalMillis == b.arrivalMillis)(s"time ${a.arrivalMillis}, by the SDK ${b.arrivalMillis}")
      Broken.unless(util.Arrays.equals(a.data, b.data))(s"other data than the SDK's in ${a.sequenceNumber}")
      Broken.unless(a.size == b.size)(s"size ${a.size}, of the SDK's record ${b.size}")
    }
  }
}

/** Answers of GetRecords in CBOR. */
object CborAnswers extends SameAsSdk("cbor") {
  private lazy val both = SameAsSdk.ofAnswers(BodyExtractor.Cbor, SdkDecoder.answersInCbor)

  override protected def decoders(input: Array[Byte]): SameAsSdk.Decoders = both

  // Maps and lists that a break ends, as Jackson's generator writes them.
  override protected def begun(data: Array[Byte]): Array[Byte] =
    hex("bf") ++ text("Records") ++ hex("9f") ++ record("9", hex("5a") ++ bytesOf(data.length) ++ data)

  override protected def ends: Seq[Array[Byte]] = Seq(
    hex("ff") ++ text("NextShardIterator") ++ text("next") ++ hex("ff"),
    record("10", hex("43010203")) ++ hex("ffff")
  )

  override protected def bodies: Seq[Array[Byte]] = Seq(
    Cbor.write(
      Map[String, Any](
        "Records" -> Seq(PolledAnswers.record("1001"), PolledAnswers.record("1002") ++ Map("EncryptionType" -> "KMS")),
        "NextShardIterator"  -> "next",
        "MillisBehindLatest" -> 0L
      )
    ),
    Cbor.write(
      Map[String, Any]("Records" -> Seq.empty, "MillisBehindLatest" -> 5000L, "ChildShards" -> Seq(PolledAnswers.child))
    ),
    // As Kinesis writes it: counts, and times with a tag.
    hex("a3") ++ text("NextShardIterator") ++ text("next") ++ text("MillisBehindLatest") ++ hex("00") ++
      text("Records") ++ hex("82") ++ record("12", hex("43010203"), members = "a4") ++
      record("13", hex("40"), hex("f6"), members = "a4"),
    // Members that nobody knows.
    hex("a2") ++ text("Unknown") ++ hex("8120") ++ text("Records") ++ hex("81a6") ++ text("Unknown") ++
      hex("bf6161f90000616280ff") ++ text("Since") ++ hex("c11a00000001") ++ members("14", hex("4101"), text("ü€𝄞"))
  )

  private def record(number: String, data: Array[Byte], key: Array[Byte] = text("key"), members: String = "bf") =
    hex(members) ++ this.members(number, data, key) ++ hex(if (members == "bf") "ff" else "")

  override protected def bodiesWith(value: Array[Byte]): Seq[Array[Byte]] = {
    val record = Map(
      "Data"                        -> hex("4101"),
      "SequenceNumber"              -> text("12"),
      "PartitionKey"                -> text("key"),
      "ApproximateArrivalTimestamp" -> hex("01"),
      "EncryptionType"              -> text("KMS"),
      "Unknown"                     -> hex("f6")
    )
    def map(members: Map[String, Array[Byte]]) =
      members.foldLeft(hex("bf")) { case (all, (name, member)) => all ++ text(name) ++ member } ++ hex("ff")
    record.keys.toSeq.map(name => map(Map("Records" -> (hex("81") ++ map(record.updated(name, value)))))) ++
      Seq("Records", "NextShardIterator", "MillisBehindLatest", "ChildShards", "Unknown").map { name =>
        map(Map("Records" -> (hex("81") ++ map(record)), name -> value))
      }
  }

  private def members(number: String, data: Array[Byte], key: Array[Byte]) =
    text("Data") ++ data ++ text("SequenceNumber") ++ text(number) ++ text("PartitionKey") ++ key ++
      text("ApproximateArrivalTimestamp") ++ hex("c11b0000018bcfe56800")

  override def words: Seq[Array[Byte]] =
    Seq("Records", "NextShardIterator", "MillisBehindLatest", "ChildShards", "Data", "SequenceNumber", "PartitionKey")
      .++(Seq("ApproximateArrivalTimestamp", "EncryptionType", "Unknown", "12", "13", "14"))
      .map(text) ++
      Seq(
        "c1",
        "c2",
        "c4",
        "d9d9f7",
        "f6",
        "f7",
        "f4",
        "f90000",
        "fb0000000000000000",
        "1b0000018bcfe56800",
        "bf",
        "9f",
        "ff",
        "80",
        "81",
        "a0"
      )
        .map(hex)

  private def hex(digits: String): Array[Byte] = digits.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  private def bytesOf(n: Int) = ByteBuffer.allocate(4).putInt(n).array

  private def text(characters: String) = {
    val utf8 = characters.getBytes(UTF_8)
    (if (utf8.length < 24) Array((0x60 + utf8.length).toByte) else Array[Byte](0x78, utf8.length.toByte)) ++ utf8
  }
}

/** Answers of GetRecords in JSON, or, by the lowest bit of how they are cut, events of subscriptions. */
object JsonAnswers extends SameAsSdk("json") {
  private lazy val answers = SameAsSdk.ofAnswers(BodyExtractor.Json, SdkDecoder.answersInJson)
  private lazy val events  = SameAsSdk.Decoders(
    pieces => Try(JsonRecords.split(BodyExtractor.joined(pieces), "[{\"SequenceNumber\":\"mark\"}]".getBytes)).toOption,
    SdkDecoder.events
  )

  override protected def decoders(input: Array[Byte]): SameAsSdk.Decoders = if (input(0) % 2 == 0) answers else events

  override protected def begun(data: Array[Byte]): Array[Byte] =
    s"""{"Records":[${record("9", Base64.getEncoder.encodeToString(data))},""".getBytes

  override protected def ends: Seq[Array[Byte]] =
    Seq(s"""${record("10", "aGk=")}],"ContinuationSequenceNumber":"10","NextShardIterator":null}""").map(_.getBytes)

  override protected def bodies: Seq[Array[Byte]] = Seq(
    s"""{"Records":[${record("12", "aGVsbG8=")},${record(
        "13",
        "",
        "null"
      )}],"MillisBehindLatest":0,"NextShardIterator":"a/b=="}""",
    s"""{ "MillisBehindLatest" : 7 , "Records" : [ ] , "ContinuationSequenceNumber" : "12\\u0033", "ChildShards" : [ { "ShardId" : "a" } ] }""",
    s"""{"Unknown":{"Records":[1,-2.5e3]},"Records":[{"Unknown":[true,{"a":"\\n\\u00e4"},null],""" +
      s""""EncryptionType":"NONE",${record("14", "aGk=", "\"ü€𝄞\"").drop(1)}]}"""
  ).map(_.getBytes(UTF_8))

  override protected def bodiesWith(value: Array[Byte]): Seq[Array[Byte]] = {
    val record = Map(
      "Data"                        -> "\"aGk=\"",
      "SequenceNumber"              -> "\"12\"",
      "PartitionKey"                -> "\"key\"",
      "ApproximateArrivalTimestamp" -> "1.5",
      "EncryptionType"              -> "\"KMS\"",
      "Unknown"                     -> "null"
    ).view.mapValues(_.getBytes).toMap
    def map(members: Map[String, Array[Byte]]) =
      members.map { case (name, member) => s"\"$name\":".getBytes ++ member }.reduce(_ ++ ",".getBytes ++ _)
    def answer(members: Map[String, Array[Byte]]) = "{".getBytes ++ map(members) ++ "}".getBytes
    def list(members: Map[String, Array[Byte]])   = "[".getBytes ++ answer(members) ++ "]".getBytes
    record.keys.toSeq.map(name => answer(Map("Records" -> list(record.updated(name, value))))) ++
      Seq("Records", "NextShardIterator", "ContinuationSequenceNumber", "MillisBehindLatest", "ChildShards", "Unknown")
        .map(name => answer(Map("Records" -> list(record), name -> value)))
  }

  private def record(number: String, data: String, key: String = "\"key\"") =
    s"""{"SequenceNumber":"$number","Data":"$data","PartitionKey":$key,"ApproximateArrivalTimestamp":1700000000.5}"""

  override def words: Seq[Array[Byte]] =
    Seq("Records", "NextShardIterator", "ContinuationSequenceNumber", "MillisBehindLatest", "ChildShards", "ShardId")
      .++(Seq("Data", "SequenceNumber", "PartitionKey", "ApproximateArrivalTimestamp", "EncryptionType", "Unknown"))
      .map(name => s"\"$name\":")
      .++(
        Seq(
          "null",
          "true",
          "false",
          "1.7e9",
          "-0",
          "\\u0041",
          "\\n",
          "\"12\"",
          "\"13\"",
          "==\"",
          "[{",
          "}]",
          "{}",
          "[]"
        )
      )
      .map(_.getBytes)
}
