package io.github.kinesisspark.it

import java.util.concurrent.atomic.AtomicInteger

/** The names of what this run creates on a server. `make test-aws` chooses the run's id; any other JVM makes up its own.
  *
  * A name begins with `kst-` and the id, so that the clean-up after a crash can find what is left, and nothing else.
  */
object TestRun {

  /** Every name of every run begins so. */
  val Mark = "kst-"

  private[it] val Setting = "KINESIS_SPARK_RUN"

  val id: String = sys.env.getOrElse(Setting, newId())

  val prefix: String = prefixOf(id)

  private val counter = new AtomicInteger

  def prefixOf(id: String): String = s"$Mark$id-"

  /** Short, and later ones sort after earlier ones; two processes that start in the same millisecond differ by their pid. */
  def newId(): String =
    java.lang.Long.toString(System.currentTimeMillis(), 36) + java.lang.Long.toString(ProcessHandle.current.pid, 36)

  /** The same name each time. */
  def named(what: String): String = prefix + what

  /** A name that this run has not used. */
  def freshName(what: String): String = named(s"$what-${counter.incrementAndGet()}")
}
