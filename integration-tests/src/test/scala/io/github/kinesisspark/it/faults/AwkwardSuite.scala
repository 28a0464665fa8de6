package io.github.kinesisspark.it.faults

import org.apache.spark.sql.DataFrame
import org.scalatest.concurrent.{Signaler, ThreadSignaler}
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.kinesisspark.it.TestStream
import io.github.kinesisspark.it.source.{BatchLog, Mode, TestkitSuite}
import io.github.kinesisspark.testkit.KinesisServerConfig

/** What tests of a server with awkward answers share: each test reads by polling and by fan-out, and ends in time. */
abstract class AwkwardSuite(config: KinesisServerConfig) extends TestkitSuite(config) {

  // A read that never ends fails its test, and the others run.
  implicit private val signaler: Signaler              = ThreadSignaler
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(AwkwardSuite.Patience, Span(50, Millis))

  /** Registers one test for polling and one for fan-out. */
  protected def byEach(title: String)(body: Mode => Unit): Unit =
    Mode.both.foreach(mode => it(s"$title, by $mode")(failAfter(AwkwardSuite.Patience)(body(mode))))

  protected def stream(source: TestStream, mode: Mode, more: (String, String)*): DataFrame =
    load(source, mode.options.toSeq ++ more: _*)

  protected def batch(source: TestStream, mode: Mode, more: (String, String)*): DataFrame =
    backfill(source, mode.batchOptions.toSeq ++ more: _*)

  protected def once(log: BatchLog, expected: Seq[String]): Unit = {
    log.texts.sorted shouldBe expected.sorted
    inOrder(log)
  }
}

private object AwkwardSuite {
  // A test that passes takes a few seconds. On a busy machine the first query of a JVM takes two minutes.
  private val Patience = Span(300, Seconds)
}
