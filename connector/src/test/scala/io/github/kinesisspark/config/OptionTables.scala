package io.github.kinesisspark.config

/** The tables of docs/reference/options.md. */
private[kinesisspark] object OptionTables {

  /** The tables of all options by what they are for, and the note that their stars point to. The options of [[CallRetries.retries]] are
    * one row, for whose calls [[retries]] is the table.
    */
  def all: String = {
    val note =
      "\\* also for one stream alone of several that are read, as `stream.<name>.<option>`, which beats the general one."
    Seq(
      "For reading and writing:",
      table(OptionScope.Both) + "\n" + rowOfRetries,
      "For reading:",
      table(OptionScope.Source),
      "For writing:",
      table(OptionScope.Sink),
      note
    ).mkString("", "\n\n", "\n")
  }

  /** The calls whose retries can be set. */
  def retries: String = {
    val rows = CallRetries.retries.map { group =>
      val defaults = group.options.map(_.default.fold("")(d => s"`$d`"))
      Seq(s"`${group.prefix}`" +: side(group) +: defaults :+ group.notes).flatten.mkString("| ", " | ", " |")
    }
    (Seq(
      "| `<call>` | Of | `maxRetries` | `backoff.base` | `backoff.max` | `backoff.expConst` | Notes |",
      "|---|---|---|---|---|---|---|"
    ) ++ rows).mkString("\n")
  }

  private def side(group: RetryGroup) = group.scope match {
    case OptionScope.Source => "reading"
    case OptionScope.Sink   => "writing"
    case OptionScope.Both   => "both"
  }

  private def rowOfRetries: String = {
    val names = Seq("maxRetries", "backoff.base", "backoff.max", "backoff.expConst").map(part => s"`<call>.$part`")
    s"| ${names.mkString(", ")} | count, duration, duration, number | by call | How one call of AWS is retried: see [Retries](#retries). |"
  }

  private def table(scope: OptionScope): String = {
    val ofRetries = CallRetries.retries.flatMap(_.options).toSet[Opt[?]]
    val rows      = OptionRegistry.all.filter(o => o.scope == scope && !ofRetries(o)).map { option =>
      val name = s"`${option.name}`" + (if (option.perStream) " *" else "")
      val also =
        if (option.aliases.isEmpty) "" else option.aliases.map(a => s"`$a`").mkString(" Also known as ", ", ", ".")
      val default = option.default.fold("")(d => s"`$d`")
      Seq(name, option.kind.name, default, (option.doc + also).replace("|", "\\|")).mkString("| ", " | ", " |")
    }
    (Seq("| Option | Type | Default | Meaning |", "|---|---|---|---|") ++ rows).mkString("\n")
  }
}
