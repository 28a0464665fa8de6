package io.github.kinesisspark.testkit.wire

import com.fasterxml.jackson.core.JsonGenerator
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.dataformat.cbor.{CBORFactory, CBORGenerator}

/** The service's two encodings. They differ in blobs (Jackson sees to that) and in times: JSON has seconds with a
  * fraction, CBOR has tag 1 with whole milliseconds, which is what the AWS SDKs write and read.
  */
sealed abstract class WireFormat(val contentType: String, val mapper: ObjectMapper) {
  def writeTime(out: JsonGenerator, millis: Long): Unit
  def readTime(node: JsonNode): Long
}

object WireFormat {
  case object Json extends WireFormat("application/x-amz-json-1.1", new ObjectMapper) {
    def writeTime(out: JsonGenerator, millis: Long): Unit = out.writeNumber(java.math.BigDecimal.valueOf(millis, 3))
    def readTime(node: JsonNode): Long                    = seconds(node)
  }

  case object Cbor extends WireFormat("application/x-amz-cbor-1.1", new ObjectMapper(new CBORFactory)) {
    def writeTime(out: JsonGenerator, millis: Long): Unit = {
      out.asInstanceOf[CBORGenerator].writeTag(TimeTag)
      out.writeNumber(millis)
    }
    // A fraction can only be seconds, as RFC 8949 has tag 1.
    def readTime(node: JsonNode): Long = if (node.isIntegralNumber) node.longValue else seconds(node)
  }

  private val TimeTag = 1

  /** The format of a request's content type; JSON for any other, as the service's errors come then. */
  def of(contentType: String): Option[WireFormat] = Option(contentType).map(_.takeWhile(_ != ';').trim).flatMap {
    case Json.contentType | "application/json" => Some(Json)
    case Cbor.contentType                      => Some(Cbor)
    case _                                     => None
  }

  private def seconds(node: JsonNode): Long =
    node.decimalValue.movePointRight(3).setScale(0, java.math.RoundingMode.HALF_UP).longValue
}
