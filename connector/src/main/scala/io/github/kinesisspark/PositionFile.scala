package io.github.kinesisspark

import java.io.{FileNotFoundException, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{EnumSet, UUID}

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Options.{CreateOpts, Rename}
import org.apache.hadoop.fs.{CreateFlag, FileContext, Path, UnsupportedFileSystemException}

import io.github.kinesisspark.position.OffsetException

/** Positions in a file of their own, on any file system that Hadoop knows. It is there as a whole or not at all, as Spark's checkpoints are:
  * the text is written beside it and renamed. Where Hadoop has only the older `FileSystem` for a scheme, as for most object stores, the
  * file itself is written: these show it once it is closed.
  */
private[kinesisspark] final class PositionFile(path: String, hadoop: Configuration) {
  private val file    = new Path(path)
  private val context =
    try Some(FileContext.getFileContext(file.toUri, hadoop))
    catch { case _: UnsupportedFileSystemException => None }

  def write(text: String): Unit = {
    val bytes = text.getBytes(UTF_8)
    context.fold(Using.resource(older.create(file, true))(_.write(bytes)))(replace(_, bytes))
  }

  /** The text of the file; None if there is no such file.
    *
    * @throws OffsetException if it is empty
    */
  def read(): Option[String] =
    try {
      val text = Using.resource(open())(in => new String(in.readAllBytes(), UTF_8))
      if (text.isEmpty)
        throw new OffsetException(s"$path is an empty file, without positions. Name another file, or delete it.")
      Some(text)
    } catch { case _: FileNotFoundException => None }

  private def older = file.getFileSystem(hadoop)

  private def open(): InputStream = context.fold(older.open(file))(_.open(file))

  private def replace(files: FileContext, bytes: Array[Byte]): Unit = {
    val beside = new Path(file.getParent, s".${file.getName}.${UUID.randomUUID()}.part")
    val flags  = EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE)
    try {
      Using.resource(files.create(beside, flags, CreateOpts.createParent()))(_.write(bytes))
      files.rename(beside, file, Rename.OVERWRITE)
    } catch {
      case e: Throwable =>
        try files.delete(beside, false)
        catch { case _: java.io.IOException => }
        throw e
    }
  }
}
