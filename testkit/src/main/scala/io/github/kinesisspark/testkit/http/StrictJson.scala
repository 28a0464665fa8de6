package io.github.kinesisspark.testkit.http

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import scala.collection.mutable

/** The members of a JSON structure that a person wrote. A member of a wrong type is refused with its name and what it must be,
  * and so is one that was not asked for. A member that is null counts as absent.
  *
  * @param path of the structure itself, ending with a dot if it is a member
  */
final private[http] class StrictJson private (node: ObjectNode, path: String) {
  import StrictJson._

  private val known = mutable.TreeSet.empty[String]
  private val inner = mutable.Buffer.empty[StrictJson]

  /** @param expected in words
    * @param read none if the value is not as expected
    */
  def member[A](name: String, expected: String)(read: JsonNode => Option[A]): Member[A] = {
    known += name
    val value = Option(node.get(name)).filterNot(_.isNull).map { json =>
      read(json).getOrElse(refuse(s"$path$name must be $expected and is $json"))
    }
    new Member(s"$path$name", expected, value)
  }

  def text(name: String): Member[String] = member(name, "a text")(n => Option(n.textValue))

  def oneOf(name: String, values: Iterable[String]): Member[String] =
    member(name, s"one of ${values.toSeq.sorted.mkString(", ")}")(n => Option(n.textValue).filter(values.toSet))

  def whole(name: String, least: Long = Long.MinValue, most: Long = Long.MaxValue): Member[Long] = {
    val bounds = (least, most) match {
      case (Long.MinValue, _)                      => ""
      case (_, highest) if highest >= Int.MaxValue => s" of $least at least"
      case _                                       => s" from $least to $most"
    }
    member(name, s"a whole number$bounds") { n =>
      Option.when(n.canConvertToExactIntegral && n.canConvertToLong)(n.longValue).filter(v => v >= least && v <= most)
    }
  }

  def share(name: String): Member[Double] =
    member(name, "a number from 0 to 1")(n => Option.when(n.isNumber)(n.doubleValue).filter(v => v >= 0 && v <= 1))

  def structure(name: String): Member[StrictJson] = member(name, "a structure") {
    case json: ObjectNode =>
      inner += new StrictJson(json, s"$path$name.")
      inner.lastOption
    case _ => None
  }

  private def checkUnknown(): Unit = {
    node.fieldNames.forEachRemaining { name =>
      if (!known(name)) refuse(s"Unknown member '$path$name'. Known: ${known.mkString(", ")}")
    }
    inner.foreach(_.checkUnknown())
  }
}

private[http] object StrictJson {
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  final private class Refused(message: String) extends RuntimeException(message, null, false, false)

  def refuse(why: String): Nothing = throw new Refused(why)

  /** A member that was asked for. */
  final class Member[+A](name: String, expected: String, val value: Option[A]) {
    def or[B >: A](default: B): B = value.getOrElse(default)
    def required: A               = value.getOrElse(refuse(s"$name is missing: $expected expected"))
  }

  /** Reads a structure, or says what is wrong with it.
    *
    * @param what the text is
    */
  def read[A](what: String, text: String)(reader: StrictJson => A): Either[String, A] = try
    mapper.readTree(text) match {
      case node: ObjectNode =>
        val json = new StrictJson(node, "")
        val read = reader(json)
        json.checkUnknown()
        Right(read)
      case other => Left(s"$what must be a structure and is ${if (other.isMissingNode) "empty" else other.toString}")
    }
  catch {
    case e: JsonProcessingException => Left(s"$what must be JSON: ${e.getOriginalMessage}")
    case e: Refused                 => Left(e.getMessage)
  }
}
