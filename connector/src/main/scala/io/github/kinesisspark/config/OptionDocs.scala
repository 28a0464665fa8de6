package io.github.kinesisspark.config

/** The registry in the two forms that others read. */
object OptionDocs {

  /** An array of `{name, type, default, doc, since, scope, secret, perStream, values, aliases}`: the Python package
    * compares its own options with it. `default` is null where there is none.
    */
  def json: String = ujson.write(ujson.Arr.from(OptionRegistry.all.map { option =>
    ujson.Obj(
      "name"      -> option.name,
      "type"      -> option.valueType,
      "default"   -> option.default.fold[ujson.Value](ujson.Null)(ujson.Str(_)),
      "doc"       -> option.doc,
      "since"     -> option.since,
      "scope"     -> option.scope.name,
      "secret"    -> option.secret,
      "perStream" -> option.perStream,
      "values"    -> ujson.Arr.from(option.values),
      "aliases"   -> ujson.Arr.from(option.aliases)
    )
  }))

  /** The README's tables, of all options by what they are for, and the note that their stars point to. */
  def markdown: String = {
    val note =
      "\\* also for one stream alone of several that are read, as `stream.<name>.<option>`, which beats the general one."
    Seq(
      "For reading and writing:",
      table(OptionScope.Both),
      "For reading:",
      table(OptionScope.Source),
      "For writing:",
      table(OptionScope.Sink),
      note
    ).mkString("", "\n\n", "\n")
  }

  private def table(scope: OptionScope): String = {
    val rows = OptionRegistry.all.filter(_.scope == scope).map { option =>
      val name = s"`${option.name}`" + (if (option.perStream) " *" else "")
      val also =
        if (option.aliases.isEmpty) "" else option.aliases.map(a => s"`$a`").mkString(" Also known as ", ", ", ".")
      val default = option.default.fold("")(d => s"`$d`")
      Seq(name, option.valueType, default, (option.doc + also).replace("|", "\\|")).mkString("| ", " | ", " |")
    }
    (Seq("| Option | Type | Default | Meaning |", "|---|---|---|---|") ++ rows).mkString("\n")
  }
}
