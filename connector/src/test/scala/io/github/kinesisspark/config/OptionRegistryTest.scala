package io.github.kinesisspark.config

import java.util.Locale

import org.scalatest.funsuite.AnyFunSuite

class OptionRegistryTest extends AnyFunSuite {

  test("no two options share a name or alias, whatever the case") {
    val names = KinesisOptions.all.flatMap(o => o.name +: o.aliases).map(_.toLowerCase(Locale.ROOT))
    assert(names.distinct == names)
  }

  test("every default is a value that its option takes") {
    KinesisOptions.opts.foreach(option =>
      assert(option.default.isDefined == option.definition.default.isDefined, option.name)
    )
  }

  test("every word that an option names is one it takes") {
    for (option <- KinesisOptions.opts; word <- option.definition.values)
      assert(option.parse(word).isRight && option.parse(word.toUpperCase(Locale.ROOT)).isRight, option.name)
  }

  test("every option is documented in whole sentences and tells since when it is there") {
    KinesisOptions.all.foreach { option =>
      assert(option.doc.endsWith("."), option.name)
      assert(option.since.matches("""\d+\.\d+\.\d+"""), option.name)
    }
  }

  test("keys and tokens are secret, nothing else is") {
    assert(KinesisOptions.all.filter(_.secret).map(_.name) == Seq("accessKeyId", "secretAccessKey", "sessionToken"))
  }

  test("secrets have no default and are never listed words") {
    KinesisOptions.all.filter(_.secret).foreach(o => assert(o.default.isEmpty && o.values.isEmpty))
  }

  test("the JSON holds each option with all its fields") {
    val json = ujson.read(OptionDocs.json).arr
    assert(json.map(_("name").str) == KinesisOptions.all.map(_.name))
    val fields = Set("name", "type", "default", "doc", "since", "scope", "secret", "perStream", "values", "aliases")
    json.foreach(option => assert(option.obj.keySet == fields))
    val position = json.find(_("name").str == "startingPosition").get
    assert(position("default").isNull && position("perStream").bool && position("scope").str == "source")
    assert(json.find(_("name").str == "region").get("default").isNull)
  }

  test("the tables have a row for each option, and cells don't break them") {
    val lines = OptionDocs.markdown.linesIterator.filter(_.startsWith("|")).toSeq
    val rows  = lines.filter(_.startsWith("| `"))
    assert(rows.size == KinesisOptions.all.size && lines.size == rows.size + 3 * 2)
    lines.foreach(line => assert(line.replace("\\|", "").count(_ == '|') == 5, line))
    assert(lines.exists(_.startsWith("| `startingPosition` * | position |  |")))
  }
}
