package io.github.kinesisspark.build

import java.io.File
import java.nio.file.Files
import java.security.MessageDigest

/** Holds the JARs of the build's plug-ins, and of what they need, to the hashes in `plugins.sha256`: what Maven gives must be what it gave when
  * the versions were chosen. Runs before any of them is loaded into the build. The connector's tests compile it, too.
  */
object PinnedPlugins {

  /** Set to write the file anew, after a change of versions. */
  private val Write = "KINESIS_SPARK_WRITE_PINS"

  /** Fails the build unless each JAR has its hash, and each hash its JAR. */
  def check(jars: Seq[File], pins: File): Unit = {
    val found = jars.distinct.map(jar => s"${sha256(jar)}  ${jar.getName}").sortBy(_.split("  ").last)
    if (sys.env.contains(Write)) Files.write(pins.toPath, found.mkString("", "\n", "\n").getBytes("UTF-8"))
    val pinned = new String(Files.readAllBytes(pins.toPath), "UTF-8").split("\n").toSeq
    problem(found, pinned, pins.getName).foreach(why => throw new IllegalStateException(why))
  }

  /** What is wrong, if something is. Both have lines of a hash and a name. */
  def problem(found: Seq[String], pinned: Seq[String], pins: String): Option[String] = {
    val (more, fewer) = (found.diff(pinned), pinned.diff(found))
    if (more.isEmpty && fewer.isEmpty) None
    else
      Some(
        s"The JARs of the build's plug-ins are not those of $pins. Found and not pinned: ${shown(more)}. Pinned and not found: " +
          s"${shown(fewer)}. If you changed a version on purpose, set $Write=1 once, and compare the hashes with those of Maven Central."
      )
  }

  private def shown(lines: Seq[String]) = if (lines.isEmpty) "none" else lines.mkString(", ")

  private def sha256(file: File): String =
    MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file.toPath)).map(b => f"${b & 0xff}%02x").mkString
}
