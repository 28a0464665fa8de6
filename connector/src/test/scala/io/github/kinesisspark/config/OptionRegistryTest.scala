package io.github.kinesisspark.config

import java.util.Locale

import org.scalatest.funsuite.AnyFunSuite

class OptionRegistryTest extends AnyFunSuite {

  test("option names and aliases are unique, ignoring case") {
    val names = OptionRegistry.all.flatMap(o => o.name +: o.aliases).map(_.toLowerCase(Locale.ROOT))
    assert(names.distinct == names)
  }

  test("every default text is a valid value of its option") {
    OptionRegistry.all.foreach(option => option.absent)
  }

  test("every listed value of an option is accepted in lower and upper case") {
    for (option <- OptionRegistry.all; word <- option.kind.words)
      assert(option.read(word).isRight && option.read(word.toUpperCase(Locale.ROOT)).isRight, option.name)
  }

  test("the least and the greatest value of an option are accepted") {
    for (option <- OptionRegistry.all; bound <- option.kind.least ++ option.kind.most)
      assert(option.read(bound).isRight, option.name)
  }

  test("an option is read wherever it may be given: a value that it can't have is refused") {
    def sides(option: Opt[?]) = Seq[(OptionScope, Map[String, String] => Any)](
      OptionScope.Source -> SourceOptions.parse,
      OptionScope.Sink   -> SinkOptions.parse
    ).collect { case (side, parse) if Set(side, OptionScope.Both)(option.scope) => parse }
    def beside(option: Opt[?]) = option match {
      case StreamRef.streamArn                  => Map.empty[String, String]
      case CredentialsOptions.providerParameter => Map("streamName" -> "orders", "credentialsProvider" -> "a.B")
      case _                                    => Map("streamName" -> "orders")
    }
    for (option <- OptionRegistry.all; parse <- sides(option)) {
      val key      = option.name.replace("<stream>", "orders").replace("<parameter>", "vault")
      val wrong    = if (option.kind.name == "list") "a,,b" else ""
      val problems = intercept[OptionException](parse(beside(option) + (key -> wrong))).problems
      assert(problems.exists(_.startsWith(s"'$key' must be ")), option.name)
    }
  }

  test("every option has a doc that ends with a full stop") {
    OptionRegistry.all.foreach(option => assert(option.doc.endsWith("."), option.name))
  }

  test("only keys, a provider's parameters and a proxy's password are secret") {
    assert(
      OptionRegistry.all.filter(_.isSecret).map(_.name) ==
        Seq("accessKeyId", "secretAccessKey", "sessionToken", "credentialsProvider.<parameter>", "proxyPassword")
    )
  }

  test("secret options have no default and no listed values") {
    OptionRegistry.all.filter(_.isSecret).foreach(o => assert(o.default.isEmpty && o.kind.words.isEmpty))
  }

  test("the generated JSON holds every option with all its fields") {
    val json = ujson.read(OptionDocs.json).arr
    assert(json.map(_("name").str) == OptionRegistry.all.map(_.name))
    val fields =
      Set("name", "type", "default", "doc", "scope", "secret", "perStream", "values", "least", "most", "aliases")
    json.foreach(option => assert(option.obj.keySet == fields))
    val position = json.find(_("name").str == "startingPosition").get
    assert(position("default").isNull && position("perStream").bool && position("scope").str == "source")
    assert(json.find(_("name").str == "region").get("default").isNull)
  }

  test("the generated Markdown has one row per option, one for those of retries, and no cell breaks its table") {
    val lines = OptionTables.all.linesIterator.filter(_.startsWith("|")).toSeq
    val rows  = lines.filter(_.startsWith("| `"))
    assert(rows.size == OptionRegistry.all.size - 4 * CallRetries.retries.size + 1)
    assert(lines.size == rows.size + 3 * 2)
    lines.foreach(line => assert(line.replace("\\|", "").count(_ == '|') == 5, line))
    assert(lines.exists(_.startsWith("| `startingPosition` * | position |  |")))
  }

  test("the generated table of retries has one row per call") {
    val rows = OptionTables.retries.linesIterator.drop(2).toSeq
    assert(rows.size == CallRetries.retries.size)
    assert(rows.contains("| `listStreamConsumers` | reading |  | `200ms` | `1s` | `1.5` |  |"))
    rows.foreach(row => assert(row.count(_ == '|') == 8, row))
  }
}
