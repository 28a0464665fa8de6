package io.github.kinesisspark

import scala.collection.mutable
import scala.concurrent.ExecutionContext
import scala.util.matching.Regex

/** What the sources use of Scala 2.13's library and scala-collection-compat doesn't have. The build imports it into every file. */
object scala212 {

  implicit final class RegexMethods(private val regex: Regex) extends AnyVal {
    def matches(text: CharSequence): Boolean = regex.pattern.matcher(text).matches
  }

  implicit final class MutableMapMethods[K, V](val map: mutable.Map[K, V]) extends AnyVal {
    def mapValuesInPlace(f: (K, V) => V): map.type = map.transform(f)
  }

  implicit final class ExecutionContextCompanion(private val companion: ExecutionContext.type) extends AnyVal {

    /** The caller's thread, as 2.13's own. */
    def parasitic: ExecutionContext = Parasitic
  }

  private object Parasitic extends ExecutionContext {
    override def execute(task: Runnable): Unit           = task.run()
    override def reportFailure(failure: Throwable): Unit = ExecutionContext.defaultReporter(failure)
  }
}
