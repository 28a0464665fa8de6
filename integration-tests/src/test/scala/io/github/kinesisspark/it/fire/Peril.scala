package io.github.kinesisspark.it.fire

import org.apache.hadoop.conf.Configuration

/** What is to befall the driver, told by whoever starts it: `before offsets 2` is death before the second write of this JVM
  * into a directory `offsets`.
  *
  * @param what   `before` or `after` a file appears, death; `full` or `readonly`, no file from then on
  * @param where  the directory: `offsets`, `commits`, or `_spark_metadata` of the file sink; `tasks` for those that write
  * @param number which write, from 1
  */
final case class Peril(what: String, where: String, number: Int)

object Peril {
  val Key = "fire.peril"

  def of(conf: Configuration): Option[Peril] = Option(conf.get(Key)).flatMap(read)

  def read(text: String): Option[Peril] = text.split(' ') match {
    case Array(what, where, number) => Some(Peril(what, where, number.toInt))
    case Array("none")              => None
    case _ => throw new IllegalArgumentException(s"$Key=$text: what, where and number expected")
  }

  /** SIGKILL to this JVM: no shutdown hook, no finally, no flush. */
  def die(): Nothing = {
    new ProcessBuilder("kill", "-KILL", ProcessHandle.current.pid.toString).start().waitFor()
    throw new IllegalStateException("survived SIGKILL")
  }
}
