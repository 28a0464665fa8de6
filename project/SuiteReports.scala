import java.io.File
import java.time.{LocalDateTime, LocalTime}
import java.time.format.DateTimeFormatter
import java.time.temporal.ChronoUnit.SECONDS

import scala.collection.mutable

import sbt._
import sbt.protocol.testing.TestResult
import sbt.testing.Event

/** Writes a JUnit report for each suite that has ended, and prints a line about it.
  *
  * sbt's own reports leave out that a test was canceled, and why. A test JVM's events arrive on one thread, suite after
  * suite, so what belongs to a suite is kept by thread.
  *
  * @param prints false where ScalaTest prints every test
  */
final class SuiteReports(module: String, directory: File, prints: Boolean) extends TestsListener {
  private val Clock  = DateTimeFormatter.ofPattern("HH:mm:ss")
  private val events = new ThreadLocal[mutable.Buffer[Event]]

  override def doInit(): Unit                            = IO.createDirectory(directory)
  override def startGroup(name: String): Unit            = events.set(mutable.Buffer.empty)
  override def testEvent(event: TestEvent): Unit         = events.get ++= event.detail
  override def doComplete(finalResult: TestResult): Unit = ()

  override def endGroup(name: String, result: TestResult): Unit = report(name, events.get.map(TestCase.of(_, name)))
  override def endGroup(name: String, failure: Throwable): Unit = {
    val aborted = TestCase.aborted(name, failure)
    report(name, events.get.map(TestCase.of(_, name)) :+ aborted)
  }

  private def report(suite: String, cases: Seq[TestCase]): Unit = {
    val seconds = cases.map(_.millis).sum / 1000.0
    val xml     =
      <testsuite name={suite} tests={cases.size.toString} time={seconds.toString}
        failures={cases.count(_.outcome.isFailure).toString} errors="0"
        skipped={cases.count(_.outcome.isSkipped).toString}
        timestamp={LocalDateTime.now.truncatedTo(SECONDS).toString}>
        {cases.map(_.xml)}
      </testsuite>
    scala.xml.XML.save((directory / s"TEST-$suite.xml").getPath, xml, "UTF-8", xmlDecl = true, null)
    if (prints) println(line(suite, cases, seconds))
  }

  private def line(suite: String, cases: Seq[TestCase], seconds: Double): String = {
    val (failed, skipped) = (cases.filter(_.outcome.isFailure), cases.count(_.outcome.isSkipped))
    val counts            =
      Seq(s"${cases.size - failed.size - skipped} passed") ++
        Some(s"${failed.size} FAILED").filter(_ => failed.nonEmpty) ++ Some(s"$skipped skipped").filter(_ =>
          skipped > 0
        )
    val head = f"${LocalTime.now.format(Clock)} $seconds%6.1f s  $module ${suite.split('.').last}: "
    ((head + counts.mkString(", ")) +: failed.map(c => s"           FAILED ${c.name}")).mkString("\n")
  }
}
