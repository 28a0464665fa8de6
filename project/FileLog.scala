import java.io.{File, FileOutputStream, PrintWriter}

import sbt.io.IO
import sbt.util.{Level, Logger}

/** What a test JVM prints, in a file that exists from the first line on. */
final class FileLog(file: File) extends Logger {
  private lazy val out = {
    IO.createDirectory(file.getParentFile)
    new PrintWriter(new FileOutputStream(file), true)
  }

  override def log(level: Level.Value, message: => String): Unit = out.println(message)
  override def success(message: => String): Unit                 = out.println(message)
  override def trace(failure: => Throwable): Unit                = failure.printStackTrace(out)
}
