package io.github.kinesisspark.it.chaos

import org.apache.hadoop.conf.Configuration

/** Where the driver is killed or its disk fails, as the chaos harness passes it to the query: `before offsets 2` kills the JVM before its
  * second write into a directory `offsets`.
  *
  * @param what   `before` or `after`: SIGKILL before or after the file appears. `full` or `readonly`: every write fails from then on
  * @param where  the directory: `offsets`, `commits`, or `_spark_metadata` of the file sink; `tasks` counts finished tasks that wrote rows
  * @param number which write, from 1
  */
final case class CrashPoint(what: String, where: String, number: Int)

object CrashPoint {
  val Key = "chaos.crashPoint"

  def of(conf: Configuration): Option[CrashPoint] = Option(conf.get(Key)).flatMap(read)

  def read(text: String): Option[CrashPoint] = text.split(' ') match {
    case Array(what, where, number) => Some(CrashPoint(what, where, number.toInt))
    case Array("none")              => None
    case _ => throw new IllegalArgumentException(s"$Key=$text: expected what, where and number, or none")
  }

  /** Sends SIGKILL to this JVM: no shutdown hook, no finally, no flush. */
  def kill(): Nothing = {
    new ProcessBuilder("kill", "-KILL", ProcessHandle.current.pid.toString).start().waitFor()
    throw new IllegalStateException("This JVM survived SIGKILL")
  }
}
