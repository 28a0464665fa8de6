package io.github.kinesisspark.it

import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.PagePart
import io.github.kinesisspark.testkit.Main

/** Holds the local server's part of docs/reference/command-line.md to its options. */
class ServerOptionsPageSpec extends AnyFunSpec with Matchers {
  private val rows =
    Main.commandLine.getCommandSpec.options.asScala.toSeq.filterNot(o => o.usageHelp || o.versionHelp).map { option =>
      Seq(option.names.map(name => s"`$name`").mkString(", "), option.description.mkString(" ").replace("|", "\\|"))
    }

  private val part = new PagePart("command-line.md", "server-options", PagePart.table(Seq("Option", "Meaning"), rows))

  part.writeIfAsked()

  describe("the page of the command line") {
    it("has the options of the local server") {
      part.onPage shouldBe part.text
    }
  }
}
