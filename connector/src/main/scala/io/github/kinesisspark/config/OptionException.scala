package io.github.kinesisspark.config

import io.github.kinesisspark.error.ErrorCatalogue

/** The options as given can't be used. It lists all problems, so that one run corrects them all.
  *
  * @param problems one sentence or two each: which option, what was found, what to do. None holds a secret's value.
  */
final class OptionException(val problems: Seq[String])
    extends IllegalArgumentException(OptionException.text(problems)) {

  /** The stable name that monitoring can match on; the message starts with it, as Spark's do. */
  def errorClass: String = OptionException.ErrorClass
}

object OptionException {
  val ErrorClass = "KINESIS_INVALID_OPTION"

  private def text(problems: Seq[String]): String = problems match {
    case Seq(one) => s"[$ErrorClass] $one${ErrorCatalogue.suffix(ErrorClass)}"
    case many     =>
      many.mkString(s"[$ErrorClass] ${many.size} problems:\n  - ", "\n  - ", s"\n${ErrorCatalogue.suffix(ErrorClass)}")
  }
}
