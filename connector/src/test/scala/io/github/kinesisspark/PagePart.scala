package io.github.kinesisspark

import java.nio.file.{Files, Path}

/** A part of a page of docs/reference that comes from the code. It stands between two comments with its name. */
private[kinesisspark] final class PagePart(page: String, val name: String, val text: String) {
  private val file  = PagePart.folder.resolve(page)
  private val begin = s"<!-- $name: written by `make reference` -->\n\n"
  private val end   = s"\n\n<!-- end of $name -->"

  /** As the page has it. */
  def onPage: String = {
    val (_, rest) = split(Files.readString(file), begin)
    split(rest, end)._1
  }

  /** Where the run is to write pages, as `make reference` is. */
  def writeIfAsked(): Unit = if (sys.env.get("KINESIS_SPARK_WRITE_DOCS").contains("1")) {
    val (before, rest) = split(Files.readString(file), begin)
    val (_, after)     = split(rest, end)
    Files.writeString(file, before + begin + text + end + after): Unit
  }

  private def split(whole: String, at: String): (String, String) = {
    val found = whole.indexOf(at)
    require(found >= 0, s"$file has no line '${at.trim}'")
    (whole.take(found), whole.drop(found + at.length))
  }
}

private[kinesisspark] object PagePart {
  val docs: Path     = Repository.root.resolve("docs")
  private val folder = docs.resolve("reference")

  def table(header: Seq[String], rows: Seq[Seq[String]]): String =
    (header +: header.map(_ => "---") +: rows).map(_.mkString("| ", " | ", " |")).mkString("\n")
}
