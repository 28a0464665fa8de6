import sbt._
import sbt.Keys._

/** Compiles sources of Scala 2.13 with 2.12.
  *
  * What 2.12's library lacks comes by imports. 2.13's compiler takes such imports as an option (`-Yimports`); for 2.12 they are
  * written behind the package clause of a copy of each source, in the same line, so that line numbers stay.
  */
object Scala212 {
  private val Import  = "import scala.collection.compat._, io.github.kinesisspark.scala212._"
  private val Package = "(?m)^package .*$".r

  val settings: Seq[Setting[_]] = Seq(
    scalacOptions := Seq(
      "-deprecation",
      "-feature",
      "-unchecked",
      "-Xsource:3",
      "-Ypartial-unification",
      "-release:17"
    ),
    // The tests are those of Scala 2.13.
    Test / sources                                  := Nil,
    libraryDependencies += "org.scala-lang.modules" %% "scala-collection-compat" % Versions.collectionCompat,
    Compile / sources                               := {
      val copies = target.value / "scala-2.12-sources"
      (Compile / sources).value.map { source =>
        if (source.getPath.contains("/src/main/scala/")) copyOf(source, copies)
        else source
      }
    }
  )

  private def copyOf(source: File, copies: File): File = {
    val copy = copies / source.getPath.split("/src/main/scala/").last
    val text = Package.replaceFirstIn(IO.read(source), s"$$0; $Import")
    if (!copy.exists || IO.read(copy) != text) IO.write(copy, text)
    copy
  }
}
