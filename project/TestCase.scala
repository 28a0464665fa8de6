import java.io.{PrintWriter, StringWriter}

import scala.xml.{Elem, NodeSeq}

import sbt.testing.{Event, NestedTestSelector, Status, TestSelector}

/** How a test ended. */
sealed abstract class TestOutcome {
  def isFailure: Boolean = false
  def isSkipped: Boolean = false
  def xml: NodeSeq       = NodeSeq.Empty
}

object TestOutcome {
  case object Passed extends TestOutcome

  final case class Skipped(reason: String) extends TestOutcome {
    override def isSkipped: Boolean = true
    override def xml: NodeSeq       = <skipped message={TestCase.legal(reason)}/>
  }

  final case class Failed(message: String, trace: String) extends TestOutcome {
    override def isFailure: Boolean = true
    override def xml: NodeSeq       = <failure message={TestCase.legal(message)}>{TestCase.legal(trace)}</failure>
  }
}

/** A test that has ended.
  *
  * @param of the suite, with the nested suite's id after a slash
  */
final case class TestCase(of: String, name: String, millis: Long, outcome: TestOutcome) {
  def xml: Elem =
    <testcase classname={of} name={TestCase.legal(name)} time={(millis / 1000.0).toString}>{outcome.xml}</testcase>
}

object TestCase {
  private val Suite = "(the suite)"

  /** A suite that a failure has ended. */
  def aborted(suite: String, failure: Throwable): TestCase = TestCase(suite, Suite, 0, failed(Some(failure)))

  def of(event: Event, suite: String): TestCase = {
    val failure    = if (event.throwable.isDefined) Some(event.throwable.get) else None
    val (of, name) = event.selector match {
      case nested: NestedTestSelector => (s"$suite/${nested.suiteId}", nested.testName)
      case test: TestSelector         => (suite, test.testName)
      case _                          => (suite, Suite)
    }
    val outcome = event.status match {
      case Status.Success                => TestOutcome.Passed
      case Status.Error | Status.Failure => failed(failure)
      case Status.Canceled               => TestOutcome.Skipped(s"canceled: ${message(failure)}")
      case other                         => TestOutcome.Skipped(other.toString.toLowerCase)
    }
    TestCase(of, name, math.max(event.duration, 0), outcome)
  }

  /** XML has no form for control characters. */
  def legal(text: String): String = text.filter(c => (c >= ' ' && c < '\uFFFE') || c == '\n' || c == '\t')

  private def failed(failure: Option[Throwable]): TestOutcome =
    TestOutcome.Failed(message(failure), failure.map(trace).getOrElse(""))

  private def message(failure: Option[Throwable]): String =
    failure.flatMap(f => Option(f.getMessage)).getOrElse("no message")

  private def trace(failure: Throwable): String = {
    val text = new StringWriter
    failure.printStackTrace(new PrintWriter(text))
    text.toString
  }
}
