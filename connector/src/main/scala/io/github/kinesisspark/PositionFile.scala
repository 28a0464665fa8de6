package io.github.kinesisspark

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{EnumSet, UUID}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Options.{CreateOpts, Rename}
import org.apache.hadoop.fs.{CreateFlag, FileContext, Path}

import scala.util.Using

/** Positions in a file of their own, on any file system that Hadoop knows. It is there as a whole or not at all: the text is written
  * beside it and renamed, as Spark writes its checkpoints.
  */
private[kinesisspark] final class PositionFile(path: String, hadoop: Configuration) {
  private val file  = new Path(path)
  private val files = FileContext.getFileContext(file.toUri, hadoop)

  def write(text: String): Unit = {
    val beside = new Path(file.getParent, s".${file.getName}.${UUID.randomUUID()}.part")
    val flags  = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE)
    try {
      Using.resource(files.create(beside, flags, CreateOpts.createParent()))(_.write(text.getBytes(UTF_8)))
      files.rename(beside, file, Rename.OVERWRITE)
    } catch {
      case e: Throwable =>
        try files.delete(beside, false)
        catch { case _: java.io.IOException => }
        throw e
    }
  }

  /** Nothing where there is no such file. */
  def read(): Option[String] =
    try Using.resource(files.open(file))(in => Some(new String(in.readAllBytes(), UTF_8)))
    catch { case _: FileNotFoundException => None }
}
