package io.github.kinesisspark.build

import java.io.File
import java.nio.file.Files
import java.security.MessageDigest

import scala.sys.process.{Process, ProcessLogger}
import scala.util.Try

/** What a snapshot's JAR calls its sources, so that executors take nothing from a driver of others. The connector's tests compile it, too. */
object SourceCommit {
  private val Sources = Seq("build.sbt", "project", "connector/src/main")

  /** The last commit of what the JARs are made from, so that other commits change no byte of them. With changes since then, or without a
    * repository, a hash of the sources follows.
    */
  def of(root: File): String = {
    def git(asked: String*) =
      Try(Process("git" +: (asked ++ ("--" +: Sources)), root).!!(ProcessLogger(_ => ())).trim).getOrElse("")
    val last = git("log", "-1", "--format=%H")
    if (last.isEmpty) s"unknown-${hash(root)}"
    else if (git("status", "--porcelain").isEmpty) last
    else s"$last-dirty-${hash(root)}"
  }

  private def hash(root: File) = {
    val digest = MessageDigest.getInstance("SHA-256")
    Sources.map(new File(root, _)).flatMap(files).sortBy(_.getPath).foreach { file =>
      digest.update(s"${root.toPath.relativize(file.toPath)} ${file.length} ".getBytes("UTF-8"))
      digest.update(Files.readAllBytes(file.toPath))
    }
    digest.digest.take(6).map(b => f"${b & 0xff}%02x").mkString
  }

  private def files(place: File): Seq[File] =
    if (place.getName == "target") Nil
    else Option(place.listFiles).fold(Seq(place).filter(_.isFile))(_.toSeq.flatMap(files))
}
