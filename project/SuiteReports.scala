import java.io.{File, PrintWriter, StringWriter}
import java.time.{LocalDateTime, LocalTime}
import java.time.temporal.ChronoUnit.SECONDS

import scala.collection.mutable

import sbt._
import sbt.protocol.testing.TestResult
import sbt.testing.{Event, NestedTestSelector, Status, TestSelector}

/** Writes a JUnit report for each suite that has ended, and prints a line about it.
  *
  * sbt's own reports leave out that a test was canceled, and why. A test JVM's events arrive on one thread, suite after
  * suite, so what belongs to a suite is kept by thread.
  *
  * @param prints false where ScalaTest prints every test
  */
final class SuiteReports(module: String, directory: File, prints: Boolean) extends TestsListener {
  private val events = new ThreadLocal[mutable.Buffer[Event]]

  override def doInit(): Unit                          = IO.createDirectory(directory)
  override def startGroup(name: String): Unit          = events.set(mutable.Buffer.empty)
  override def testEvent(event: TestEvent): Unit       = events.get ++= event.detail
  override def doComplete(finalResult: TestResult): Unit = ()

  override def endGroup(name: String, result: TestResult): Unit   = report(name, events.get.map(Case(_, name)))
  override def endGroup(name: String, failure: Throwable): Unit = {
    val aborted = Case(name, "(the suite)", 0, Outcome.Failed(String.valueOf(failure.getMessage), trace(failure)))
    report(name, events.get.map(Case(_, name)) :+ aborted)
  }

  private def report(suite: String, cases: Seq[Case]): Unit = {
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

  private def line(suite: String, cases: Seq[Case], seconds: Double): String = {
    val (failed, skipped) = (cases.filter(_.outcome.isFailure), cases.count(_.outcome.isSkipped))
    val counts            =
      Seq(s"${cases.size - failed.size - skipped} passed") ++
        Some(s"${failed.size} FAILED").filter(_ => failed.nonEmpty) ++ Some(s"$skipped skipped").filter(_ => skipped > 0)
    val head = f"${LocalTime.now.truncatedTo(SECONDS)} $seconds%6.1f s  $module ${suite.split('.').last}: "
    ((head + counts.mkString(", ")) +: failed.map(c => s"           FAILED ${c.name}")).mkString("\n")
  }

  private def trace(failure: Throwable): String = {
    val text = new StringWriter
    failure.printStackTrace(new PrintWriter(text))
    text.toString
  }

  /** XML has no form for control characters. */
  private def legal(text: String): String =
    text.filter(c => (c >= ' ' && c < '\uFFFE') || c == '\n' || c == '\t')

  private sealed abstract class Outcome(val isFailure: Boolean = false, val isSkipped: Boolean = false)
  private object Outcome {
    case object Passed                                         extends Outcome
    final case class Skipped(reason: String)                   extends Outcome(isSkipped = true)
    final case class Failed(message: String, trace: String) extends Outcome(isFailure = true)
  }

  private final case class Case(of: String, name: String, millis: Long, outcome: Outcome) {
    def xml: scala.xml.Elem =
      <testcase classname={of} name={legal(name)} time={(millis / 1000.0).toString}>{
        outcome match {
          case Outcome.Passed                 => scala.xml.NodeSeq.Empty
          case Outcome.Skipped(reason)        => <skipped message={legal(reason)}/>
          case Outcome.Failed(message, trace) => <failure message={legal(message)}>{legal(trace)}</failure>
        }
      }</testcase>
  }

  private object Case {
    def apply(event: Event, suite: String): Case = {
      val failure         = if (event.throwable.isDefined) Some(event.throwable.get) else None
      def message         = failure.flatMap(f => Option(f.getMessage)).getOrElse("no message")
      val (of, name)      = event.selector match {
        case nested: NestedTestSelector => (s"$suite/${nested.suiteId}", nested.testName)
        case test: TestSelector         => (suite, test.testName)
        case _                          => (suite, "(the suite)")
      }
      val outcome = event.status match {
        case Status.Success                => Outcome.Passed
        case Status.Error | Status.Failure => Outcome.Failed(message, failure.map(trace).getOrElse(""))
        case Status.Canceled               => Outcome.Skipped(s"canceled: $message")
        case other                         => Outcome.Skipped(other.toString.toLowerCase)
      }
      Case(of, name, math.max(event.duration, 0), outcome)
    }
  }
}
