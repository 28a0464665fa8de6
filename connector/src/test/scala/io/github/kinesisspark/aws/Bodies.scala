package io.github.kinesisspark.aws

import java.io.{ByteArrayOutputStream, OutputStreamWriter}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Random

import software.amazon.awssdk.thirdparty.jackson.core.{JsonFactory, JsonGenerator}
import software.amazon.awssdk.thirdparty.jackson.dataformat.cbor.CBORFactory

/** Bodies of made-up answers, for the connector's own readers. */
object Bodies {
  def written(format: JsonFactory)(write: JsonGenerator => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    // Of text, JSON's generator escapes fewer characters.
    val generator =
      if (format.isInstanceOf[CBORFactory]) format.createGenerator(bytes)
      else format.createGenerator(new OutputStreamWriter(bytes, UTF_8))
    write(generator)
    generator.close()
    bytes.toByteArray
  }

  /** The names of all members, of those in lists and in one another too. */
  def names(format: JsonFactory, body: Array[Byte]): Set[String] = {
    val parser = format.createParser(body)
    Iterator.continually(parser.nextToken()).takeWhile(_ != null).map(_ => parser.currentName).toSet
  }

  /** As it may come from the network: in pieces, of which some are empty, and some have no array. */
  def cut(body: Array[Byte], random: Random): Seq[ByteBuffer] = {
    val ends = (0 +: Seq.fill(random.nextInt(10))(random.nextInt(body.length + 1)) :+ body.length).sorted
    ends.zip(ends.tail).map { case (from, until) =>
      val piece = ByteBuffer.wrap(body, from, until - from)
      if (random.nextInt(5) > 0) piece else ByteBuffer.allocateDirect(until - from).put(piece).flip()
    }
  }
}
