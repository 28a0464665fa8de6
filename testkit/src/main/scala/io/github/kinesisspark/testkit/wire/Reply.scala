package io.github.kinesisspark.testkit.wire

import com.fasterxml.jackson.core.JsonGenerator
import io.github.kinesisspark.testkit.model.RecordLog
import io.github.kinesisspark.testkit.subscription.Subscription

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

/** The answer to a call, before it is encoded. */
sealed trait Reply
object Reply {

  /** An answer that is one body. */
  sealed trait Whole extends Reply

  /** SubscribeToShard: an answer that continues for as long as the subscription lives. */
  final case class Events(subscription: Subscription) extends Reply

  /** Success with nothing to say. */
  case object Empty extends Whole

  /** The members of the answer's structure. */
  final case class Members(write: Writer => Unit) extends Whole

  /** Records as they are stored, and other members. */
  final case class Records(slices: RecordLog.Slices, others: Writer => Unit) extends Whole

  /** The encoded body, in pieces that lie where they lie. */
  def encode(reply: Whole, format: WireFormat): Vector[ByteBuffer] = (reply, format) match {
    case (Empty, _)                                 => Vector.empty
    case (Members(write), _)                        => Vector(structure(format)(write))
    case (Records(slices, others), WireFormat.Cbor) =>
      // One map of unknown length: our head, the stored records as they are, and the rest as the generator
      // writes it, less the byte that begins its own map.
      val head = ByteBuffer.allocate(RecordsHead.length + 4)
      head.put(RecordsHead).putInt(slices.count).flip()
      val rest = structure(format)(others)
      rest.position(rest.position() + 1)
      (head +: slices.slices.map(_.buffer)) :+ rest
    case (Records(slices, others), WireFormat.Json) =>
      Vector(structure(format) { out =>
        out.array("Records")(slices.records) { (item, record) =>
          item.text("SequenceNumber", record.sequence)
          item.time("ApproximateArrivalTimestamp", record.arrivedAt)
          item.blob("Data", record.data)
          record.partitionKey.foreach(item.text("PartitionKey", _))
          if (record.isEncrypted) item.text("EncryptionType", "KMS")
        }
        others(out)
      })
  }

  private def structure(format: WireFormat)(write: Writer => Unit): ByteBuffer = {
    val bytes = new ByteArrayOutputStream(512)
    val out   = format.mapper.getFactory.createGenerator(bytes)
    out.writeStartObject()
    write(new Writer(out, format))
    out.writeEndObject()
    out.close()
    ByteBuffer.wrap(bytes.toByteArray)
  }

  // A map of unknown length (0xbf), the text "Records", and an array whose length follows in four bytes (0x9a).
  private val RecordsHead = 0xbf.toByte +: 0x67.toByte +: "Records".getBytes("US-ASCII") :+ 0x9a.toByte
}

/** Writes a structure's members. */
final class Writer(out: JsonGenerator, format: WireFormat) {
  def text(name: String, value: String): Unit             = out.writeStringField(name, value)
  def number(name: String, value: Long): Unit             = out.writeNumberField(name, value)
  def flag(name: String, value: Boolean): Unit            = out.writeBooleanField(name, value)
  def optional(name: String, value: Option[String]): Unit = value.foreach(text(name, _))
  def time(name: String, millis: Long): Unit              = { out.writeFieldName(name); format.writeTime(out, millis) }
  def blob(name: String, value: ByteBuffer): Unit         = {
    out.writeFieldName(name)
    out.writeBinary(value.array, value.arrayOffset + value.position(), value.remaining)
  }

  def structure(name: String)(write: Writer => Unit): Unit = { out.writeFieldName(name); item(write(this)) }

  def array[A](name: String)(items: IterableOnce[A])(write: (Writer, A) => Unit): Unit = {
    out.writeArrayFieldStart(name)
    items.iterator.foreach(a => item(write(this, a)))
    out.writeEndArray()
  }

  def texts(name: String, values: Iterable[String]): Unit = {
    out.writeArrayFieldStart(name)
    values.foreach(out.writeString)
    out.writeEndArray()
  }

  private def item(write: => Unit): Unit = { out.writeStartObject(); write; out.writeEndObject() }
}
