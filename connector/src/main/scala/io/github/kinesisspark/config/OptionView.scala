package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer

import GivenOptions.Setting

/** The options as one stream, or the source as a whole, sees them. A value that can't be read becomes a problem and counts as
  * left out.
  */
private[config] final class OptionView(settings: Map[String, Setting], problems: ListBuffer[String]) {

  def has(option: Opt[?]): Boolean = settings.contains(option.name)

  /** As the user wrote it. */
  def key(option: Opt[?]): String = settings.get(option.name).fold(option.name)(_.key)

  def apply[A](option: Opt[A]): A = settings.get(option.name) match {
    case None                     => option.absent
    case Some(Setting(key, text)) =>
      option.read(text) match {
        case Right(value) => value
        case Left(must)   =>
          val found = if (option.isSecret) "" else s" It is '${OptionView.shortened(text)}'."
          report(s"'$key' must be $must.$found")
          option.absent
      }
  }

  def report(problem: String): Unit = problems += problem
}

private[config] object OptionView {

  def empty: OptionView = new OptionView(Map.empty, ListBuffer.empty)

  /** A wrong value as an error may show it: never whole pages, and no password before the host of a URL, whatever is wrong with that. */
  private def shortened(text: String): String = {
    val shown = text.replaceFirst("(?s)^(\\w+://)?.*@", "$1***@")
    if (shown.length <= 200) shown else shown.take(200) + "..."
  }
}
