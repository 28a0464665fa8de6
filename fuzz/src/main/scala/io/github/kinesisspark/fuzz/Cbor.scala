package io.github.kinesisspark.fuzz

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.dataformat.cbor.CBORFactory
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper

/** What is in an answer, by another reader than the SDK's: a stricter one, which doesn't read everything that the SDK does. */
private[fuzz] object Cbor {
  private val mapper = new CBORMapper(new CBORFactory)

  def read(body: Array[Byte]): Option[JsonNode] = Try(Option(mapper.readTree(body))).toOption.flatten

  /** How many elements a member has that is a list. */
  def size(body: Array[Byte], member: String): Option[Int] =
    read(body).filter(_.isObject).flatMap(node => Option(node.get(member))).filter(_.isArray).map(_.size)

  /** Maps, lists, texts, numbers, truths and bytes. */
  def write(value: Any): Array[Byte] = mapper.writeValueAsBytes(java(value))

  private def java(value: Any): Any = value match {
    case map: Map[_, _] => map.view.mapValues(java).toMap.asJava
    case all: Seq[_]    => all.map(java).asJava
    case other          => other
  }
}
