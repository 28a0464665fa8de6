package io.github.kinesisspark

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.aws.KinesisException
import io.github.kinesisspark.config.OptionException

/** Holds docs/reference/errors.md to the error classes of the code. */
class ErrorCatalogueSpec extends AnyFunSpec with Matchers {
  import ErrorCatalogueSpec._

  describe("the catalogue of errors") {
    it("has each error class of the sources once, in the order of the alphabet") {
      val sources = Files
        .walk(Repository.root.resolve("connector/src/main/scala"))
        .iterator
        .asScala
        .filter(_.toString.endsWith(".scala"))
        .map(Files.readString(_))
        .mkString
      val named = "\"(KINESIS_[A-Z_]+)\"".r.findAllMatchIn(sources).map(_.group(1)).toSet
      classes shouldBe named.toSeq.sorted
    }

    it("has a meaning, a cause and advice for each error class") {
      chapters.filterNot(Complete.matches) shouldBe empty
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

private[kinesisspark] object ErrorCatalogueSpec {
  private val chapters: Seq[String] =
    Files.readString(PagePart.docs.resolve("reference/errors.md")).split("(?m)^## ").toSeq.tail

  /** As the page has them. */
  val classes: Seq[String] = chapters.map(_.linesIterator.next())

  private val Complete = "KINESIS_[A-Z_]+\n\n.+\n\n- \\*\\*Cause\\.\\*\\* .+\n- \\*\\*What to do\\.\\*\\* .+\n+".r
}
