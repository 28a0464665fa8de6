package io.github.kinesisspark.config

/** The options for other programs. */
object OptionDocs {

  /** An array of `{name, type, default, doc, scope, secret, perStream, values, least, most, aliases}`: the Python package
    * compares its own options with it. `default`, `least` and `most` are null where there are none.
    */
  def json: String = ujson.write(ujson.Arr.from(OptionRegistry.all.map { option =>
    ujson.Obj(
      "name"      -> option.name,
      "type"      -> option.kind.name,
      "default"   -> orNull(option.default),
      "doc"       -> option.doc,
      "scope"     -> option.scope.name,
      "secret"    -> option.isSecret,
      "perStream" -> option.perStream,
      "values"    -> ujson.Arr.from(option.kind.words),
      "least"     -> orNull(option.kind.least),
      "most"      -> orNull(option.kind.most),
      "aliases"   -> ujson.Arr.from(option.aliases)
    )
  }))

  private def orNull(text: Option[String]) = text.fold[ujson.Value](ujson.Null)(ujson.Str(_))
}
