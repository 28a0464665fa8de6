package io.github.kinesisspark.config

/** The registry in the two forms that others read. */
object OptionDocs {

  /** An array of `{name, type, default, doc, since, scope, secret, perStream, values, aliases}`: the Python package
    * compares its own options with it. `default` is null where there is none.
    */
  def json: String = ujson.write(ujson.Arr.from(KinesisOptions.all.map { option =>
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

  /** The README's table and the note that its stars point to. */
  def markdown: String = {
    val rows = KinesisOptions.all.map { option =>
      val name = s"`${option.name}`" + (if (option.perStream) " *" else "")
      val also =
        if (option.aliases.isEmpty) "" else option.aliases.map(a => s"`$a`").mkString(" Also known as ", ", ", ".")
      val default = option.default.fold("")(d => s"`$d`")
      Seq(name, option.valueType, default, (option.doc + also).replace("|", "\\|")).mkString("| ", " | ", " |")
    }
    val note = "\\* also for one stream alone, as `stream.<name>.<option>`, which beats the general one."
    (Seq("| Option | Type | Default | Meaning |", "|---|---|---|---|") ++ rows ++ Seq("", note))
      .mkString("", "\n", "\n")
  }
}
