package io.github.kinesisspark

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.OptionException
import io.github.kinesisspark.error.ErrorCatalogue

/** `KINESIS_SPARK_WRITE_DOCS=1 ./sbt "connector/testOnly *ErrorCatalogueSpec"` writes the page anew. */
class ErrorCatalogueSpec extends AnyFunSpec with Matchers {
  private val root =
    Iterator
      .iterate(Path.of("").toAbsolutePath)(_.getParent)
      .find(p => Files.exists(p.resolve("docs/reference/errors.md")))
      .get

  private val page = root.resolve("docs/reference/errors.md")

  if (sys.env.get("KINESIS_SPARK_WRITE_DOCS").contains("1")) {
    val introduction = Files.readString(page).split("(?m)^## ", 2).head
    Files.writeString(page, introduction + ErrorCatalogue.markdown): Unit
  }

  describe("the catalogue of errors") {
    it("has each error class of the sources once") {
      val sources =
        Files.walk(root.resolve("connector/src/main/scala")).iterator.asScala.filter(_.toString.endsWith(".scala"))
      val others = sources.filterNot(_.endsWith("ErrorCatalogue.scala")).map(Files.readString(_)).mkString
      val named  = "\"(KINESIS_[A-Z_]+)\"".r.findAllMatchIn(others).map(_.group(1)).toSet
      ErrorCatalogue.entries.map(_.name).sorted shouldBe named.toSeq.sorted
    }

    it("is docs/reference/errors.md") {
      Files.readString(page) should endWith(ErrorCatalogue.markdown)
    }
  }

  describe("an error's message") {
    it("begins with its class and ends with its place in the catalogue") {
      val failure = new KinesisException("KINESIS_NOT_FOUND", "There is no stream.")
      failure.getMessage shouldBe "[KINESIS_NOT_FOUND] There is no stream. (See docs/reference/errors.md#kinesis_not_found)"
      failure.bareMessage shouldBe "There is no stream."
      new OptionException(Seq("No stream is given.")).getMessage should endWith(
        "docs/reference/errors.md#kinesis_invalid_option)"
      )
    }
  }
}
