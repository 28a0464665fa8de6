package io.github.kinesisspark.it.chaos

import java.io.IOException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

/** Spark's own writer of checkpoint files and of the file sink's log, with a [[CrashPoint]] right before or after the rename that makes a
  * file appear. Set as `spark.sql.streaming.checkpointFileManagerClass`. Spark makes one for each directory.
  */
final class CrashingCheckpointFiles(path: Path, conf: Configuration)
    extends FileContextBasedCheckpointFileManager(path, conf) {
  import CrashingCheckpointFiles._
  private val point = CrashPoint.of(conf)

  override def createTempFile(file: Path): FSDataOutputStream = {
    point.filter(p => p.where == file.getParent.getName && writes(p.where).get + 1 >= p.number).foreach { p =>
      DiskErrors.get(p.what).foreach(reason => throw new IOException(s"$file ($reason)"))
    }
    super.createTempFile(file)
  }

  override def renameTempFile(from: Path, to: Path, overwrite: Boolean): Unit = {
    val where  = to.getParent.getName
    val number = writes(where).incrementAndGet()
    val moment = point.filter(p => p.where == where && p.number == number).map(_.what)
    if (moment.contains("before")) CrashPoint.kill()
    super.renameTempFile(from, to, overwrite)
    if (moment.contains("after")) CrashPoint.kill()
  }
}

object CrashingCheckpointFiles {

  /** With the kernel's messages. */
  private val DiskErrors = Map("full" -> "No space left on device", "readonly" -> "Read-only file system")

  /** Writes by directory name, in this JVM: several managers may write to one directory. */
  private val counts = new ConcurrentHashMap[String, AtomicInteger]

  private def writes(where: String) = counts.computeIfAbsent(where, _ => new AtomicInteger)
}
