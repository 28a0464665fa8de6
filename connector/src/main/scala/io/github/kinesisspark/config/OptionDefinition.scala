package io.github.kinesisspark.config

/** What an option is, for people and for the Python package's comparison: nothing about parsing.
  *
  * @param name      as documented; matched case-insensitively, as Spark does. `<stream>` in it stands for a stream's name or ARN
  * @param valueType how the text is read: string, list, map, boolean, count, number, size, duration, enum, position, uri, arn, class
  * @param default   the text that would mean the same as leaving the option out, if there is one
  * @param doc       one paragraph, Markdown
  * @param since     the first release that has it
  * @param secret    its value is never shown, not even where it is wrong
  * @param perStream may also be given as `stream.<name>.<option>`, which then holds for that stream alone
  * @param values    the words it takes, where it takes only certain words
  * @param aliases   other names for the same option, known from other connectors
  */
final case class OptionDefinition(
    name: String,
    valueType: String,
    default: Option[String],
    doc: String,
    since: String,
    scope: OptionScope,
    secret: Boolean,
    perStream: Boolean,
    values: Seq[String],
    aliases: Seq[String]
)

/** Where an option may be given. */
sealed abstract class OptionScope(val name: String) extends Product with Serializable

object OptionScope {
  case object Source extends OptionScope("source")
  case object Sink   extends OptionScope("sink")
  case object Both   extends OptionScope("both")
}

/** An option together with the reading of its text. */
final class Opt[A](val definition: OptionDefinition, val parse: OptionValue.Parser[A]) {
  def name: String = definition.name

  /** The value where the option is left out. A default that doesn't parse is a bug that the first use shows. */
  lazy val default: Option[A] =
    definition.default.map(text => parse(text).fold(why => throw new IllegalStateException(s"$name: $why"), identity))
}
