package io.github.kinesisspark.error

import java.util.Locale

/** docs/reference/errors.md, which has a chapter for each error class: its causes, and what to do. */
object ErrorCatalogue {

  /** The end of a message: where the error class is in the documentation. */
  def suffix(errorClass: String): String = s" (See docs/reference/errors.md#${errorClass.toLowerCase(Locale.ROOT)})"
}
