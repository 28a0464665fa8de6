package io.github.kinesisspark.testkit.wire

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.MissingNode
import io.github.kinesisspark.testkit.model.ServiceError

import scala.jdk.CollectionConverters._
import scala.util.Try

/** A request's members, read by name and type. A value of the wrong type is a SerializationException. */
final class Fields(node: JsonNode, format: WireFormat) {

  def text(name: String): Option[String] = read(name, "STRING")(n => Option.when(n.isTextual)(n.textValue))

  def int(name: String): Option[Int] = read(name, "INTEGER")(n => Option.when(n.canConvertToInt)(n.intValue))

  def flag(name: String): Option[Boolean] = read(name, "BOOLEAN")(n => Option.when(n.isBoolean)(n.booleanValue))

  /** Milliseconds since the epoch. */
  def time(name: String): Option[Long] = read(name, "TIMESTAMP")(n => Option.when(n.isNumber)(format.readTime(n)))

  def blob(name: String): Option[Array[Byte]] =
    read(name, "BLOB")(n => Try(n.binaryValue).toOption.flatMap(Option(_)))

  def structure(name: String): Option[Fields] =
    read(name, "STRUCTURE")(n => Option.when(n.isObject)(new Fields(n, format)))

  def list(name: String): Option[Vector[Fields]] =
    read(name, "LIST")(n => Option.when(n.isArray)(n.elements.asScala.map(new Fields(_, format)).toVector))

  def texts(name: String): Option[Vector[String]] = read(name, "LIST") { n =>
    Option.when(n.isArray && n.elements.asScala.forall(_.isTextual))(n.elements.asScala.map(_.textValue).toVector)
  }

  def textMap(name: String): Option[Map[String, String]] = read(name, "MAP") { n =>
    Option.when(n.isObject && n.elements.asScala.forall(_.isTextual))(
      n.properties.asScala.map(e => e.getKey -> e.getValue.textValue).toMap
    )
  }

  def requiredText(name: String): String = required(name)(text(name))
  def requiredInt(name: String): Int     = required(name)(int(name))

  /** The member, or the service's answer to its absence. */
  def required[A](name: String)(value: Option[A]): A = value.getOrElse(ServiceError.missing(memberOf(name)).raise())

  private def read[A](name: String, kind: String)(get: JsonNode => Option[A]): Option[A] = {
    val member = node.path(name)
    Option.when(!member.isMissingNode && !member.isNull) {
      get(member).getOrElse(ServiceError.serialization(s"Member $name can not be converted to $kind").raise())
    }
  }

  // Validation messages name members as the service's Java code does.
  private def memberOf(name: String): String =
    if (name.startsWith("ARN")) name else s"${name.head.toLower}${name.tail}"
}

object Fields {
  val empty: Fields = new Fields(MissingNode.getInstance, WireFormat.Json)

  def parse(format: WireFormat, body: Array[Byte], length: Int): Either[ServiceError, Fields] =
    if (length == 0) Right(empty)
    else
      Try(format.mapper.readTree(body, 0, length)).toEither.left
        .map(_ => ServiceError.serialization("The request's body can not be read"))
        .filterOrElse(_.isObject, ServiceError.serialization("Start of structure or map found where not expected."))
        .map(new Fields(_, format))
}
