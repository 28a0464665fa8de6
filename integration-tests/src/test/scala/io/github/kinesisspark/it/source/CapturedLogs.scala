package io.github.kinesisspark.it.source

import java.io.StringWriter

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.LoggerContext
import org.apache.logging.log4j.core.appender.WriterAppender
import org.apache.logging.log4j.core.config.Configurator
import org.apache.logging.log4j.core.layout.PatternLayout

/** Captures the log output of this JVM during a test. */
trait CapturedLogs {

  /** Each message with its level, logger and stack trace.
    *
    * @param levels of loggers meanwhile, by their names
    */
  protected def withLogs[A](levels: Map[String, Level])(body: => A): (A, String) = {
    val before = levels.map { case (name, _) => name -> LogManager.getLogger(name).getLevel }
    levels.foreach { case (name, level) => Configurator.setLevel(name, level) }
    try withLogs(body)
    finally before.foreach { case (name, level) => Configurator.setLevel(name, level) }
  }

  /** At the levels that the loggers have. */
  protected def withLogs[A](body: => A): (A, String) = {
    val written  = new StringWriter
    val context  = LogManager.getContext(false).asInstanceOf[LoggerContext]
    val root     = context.getConfiguration.getRootLogger
    val layout   = PatternLayout.newBuilder().withPattern("%p %c %m%n%throwable").build()
    val appender = WriterAppender.createAppender(layout, null, written, "all", false, true)
    appender.start()
    root.addAppender(appender, Level.TRACE, null)
    context.updateLoggers()
    try {
      val result = body
      (result, written.toString)
    } finally root.removeAppender("all")
  }
}
