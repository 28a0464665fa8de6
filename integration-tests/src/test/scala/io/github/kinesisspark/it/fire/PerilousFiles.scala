package io.github.kinesisspark.it.fire

import java.io.IOException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

/** Spark's own way to write the files of a checkpoint and of the file sink's log, with a [[Peril]] at the very point where
  * a file appears. For `spark.sql.streaming.checkpointFileManagerClass`.
  */
final class PerilousFiles(path: Path, conf: Configuration) extends FileContextBasedCheckpointFileManager(path, conf) {
  import PerilousFiles._
  private val peril = Peril.of(conf)

  override def createTempFile(file: Path): FSDataOutputStream = {
    peril.filter(p => p.where == file.getParent.getName && writes(p.where).get + 1 >= p.number).foreach { p =>
      Refusals.get(p.what).foreach(reason => throw new IOException(s"$file ($reason)"))
    }
    super.createTempFile(file)
  }

  override def renameTempFile(from: Path, to: Path, overwrite: Boolean): Unit = {
    val where  = to.getParent.getName
    val number = writes(where).incrementAndGet()
    val strike = peril.filter(p => p.where == where && p.number == number).map(_.what)
    if (strike.contains("before")) Peril.die()
    super.renameTempFile(from, to, overwrite)
    if (strike.contains("after")) Peril.die()
  }
}

object PerilousFiles {

  /** As the kernel puts it. */
  private val Refusals = Map("full" -> "No space left on device", "readonly" -> "Read-only file system")

  /** By directory. There is a manager for each directory, and more than one for some. */
  private val counts = new ConcurrentHashMap[String, AtomicInteger]

  private def writes(where: String) = counts.computeIfAbsent(where, _ => new AtomicInteger)
}
