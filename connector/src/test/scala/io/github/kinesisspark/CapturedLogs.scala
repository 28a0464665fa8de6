package io.github.kinesisspark

import java.io.StringWriter

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{Filter, LogEvent, LoggerContext}
import org.apache.logging.log4j.core.appender.WriterAppender
import org.apache.logging.log4j.core.config.Configurator
import org.apache.logging.log4j.core.filter.AbstractFilter
import org.apache.logging.log4j.core.layout.PatternLayout

/** Captures the log output of this JVM during a test. */
trait CapturedLogs {
  import CapturedLogs._

  /** Each message with its level, logger and stack trace.
    *
    * @param levels   of loggers meanwhile, by their names
    * @param ofThread the one whose messages are taken; all threads' without it
    */
  protected def withLogs[A](levels: Map[String, Level], ofThread: Option[Thread])(body: => A): (A, String) =
    watchingLogs(levels, ofThread)(said => (body, said()))

  /** The same, where the body looks at what was logged so far. */
  protected def watchingLogs[A](levels: Map[String, Level] = Map.empty, ofThread: Option[Thread] = None)(
      body: (() => String) => A
  ): A = {
    val before   = levels.map { case (name, _) => name -> LogManager.getLogger(name).getLevel }
    val written  = new StringWriter
    val context  = LogManager.getContext(false).asInstanceOf[LoggerContext]
    val root     = context.getConfiguration.getRootLogger
    val layout   = PatternLayout.newBuilder().withPattern("%p %c %m%n%throwable").build()
    val filter   = ofThread.map(thread => new OfThread(thread.getId)).orNull
    val appender = WriterAppender.createAppender(layout, filter, written, "all", false, true)
    levels.foreach { case (name, level) => Configurator.setLevel(name, level) }
    appender.start()
    root.addAppender(appender, Level.TRACE, null)
    context.updateLoggers()
    try body(() => written.toString)
    finally {
      root.removeAppender("all")
      before.foreach { case (name, level) => Configurator.setLevel(name, level) }
    }
  }

  protected def withLogs[A](levels: Map[String, Level])(body: => A): (A, String) = withLogs(levels, None)(body)

  /** At the levels that the loggers have. */
  protected def withLogs[A](body: => A): (A, String) = withLogs(Map.empty[String, Level], None)(body)
}

private object CapturedLogs {
  private final class OfThread(id: Long) extends AbstractFilter {
    override def filter(event: LogEvent): Filter.Result =
      if (event.getThreadId == id) Filter.Result.NEUTRAL else Filter.Result.DENY
  }
}
