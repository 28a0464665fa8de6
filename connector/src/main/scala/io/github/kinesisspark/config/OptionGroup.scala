package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer

/** An option: what it is for people, and how its text becomes a value. It is declared once, in an [[OptionGroup]].
  *
  * @param name      as documented; matched case-insensitively, as Spark does. `<stream>` in it stands for a stream's name or ARN
  * @param default   the text that would mean the same as leaving the option out, if there is one
  * @param doc       one paragraph, Markdown
  * @param perStream may also be given as `stream.<name>.<option>`, which then holds for that stream alone
  * @param aliases   other names for the same option, known from other connectors
  * @param read      a value from its text, or what it must be, in words that don't repeat the text
  * @param ifAbsent  the value where the option is left out
  */
final class Opt[A] private[config] (
    val name: String,
    val kind: OptionKind[?],
    val default: Option[String],
    val doc: String,
    val scope: OptionScope,
    val perStream: Boolean,
    val aliases: Seq[String],
    private[config] val read: OptionValue.Parser[A],
    ifAbsent: => A
) {
  private[config] lazy val absent: A = ifAbsent

  /** Its value is never shown, not even where it is wrong. */
  def isSecret: Boolean = kind == OptionValue.secret
}

/** Where an option may be given. */
sealed abstract class OptionScope(val name: String) extends Product with Serializable

object OptionScope {
  case object Source extends OptionScope("source")
  case object Sink   extends OptionScope("sink")
  case object Both   extends OptionScope("both")
}

/** The options that make one value, declared beside the class of that value. [[OptionRegistry]] lists the groups.
  *
  * @param scope     of its options
  * @param perStream as in [[Opt]]
  */
abstract class OptionGroup(scope: OptionScope, perStream: Boolean = false) {
  private val declared = ListBuffer.empty[Opt[?]]

  /** In the order of their declarations. */
  final def options: Seq[Opt[?]] = declared.toList

  /** An option with a default. One that doesn't parse is a bug that the first use shows. */
  protected final def option[A](name: String, kind: OptionKind[A], default: String, doc: String): Opt[A] =
    declare(new Opt(name, kind, Some(default), doc, scope, perStream, Nil, kind.parse, absent(name, kind, default)))

  /** An option that is None where it is left out and has no default. */
  protected final def optional[A](
      name: String,
      kind: OptionKind[A],
      doc: String,
      default: Option[String] = None,
      aliases: Seq[String] = Nil
  ): Opt[Option[A]] = {
    def read(text: String) = kind(text).map(Option(_))
    declare(new Opt(name, kind, default, doc, scope, perStream, aliases, read, default.map(absent(name, kind, _))))
  }

  private def absent[A](name: String, kind: OptionKind[A], default: String): A =
    kind(default).fold(must => throw new IllegalStateException(s"$name must be $must"), identity)

  private def declare[A](option: Opt[A]): Opt[A] = {
    declared += option
    option
  }
}
