package io.github.kinesisspark.error

/** Text from outside (a server's words, a record's key) as logs and messages show it: it begins no line of its own, moves no terminal's
  * cursor, turns no direction of writing, and has an end.
  */
object OneLine {
  def apply(text: String, most: Int = 400): String =
    (if (text.length <= most) text else s"${text.take(most)}...").map(c => if (breaksOut(c)) '?' else c)

  private def breaksOut(c: Char): Boolean = Character.getType(c).toByte match {
    case Character.CONTROL | Character.FORMAT | Character.LINE_SEPARATOR | Character.PARAGRAPH_SEPARATOR => true
    case _                                                                                               => false
  }
}
