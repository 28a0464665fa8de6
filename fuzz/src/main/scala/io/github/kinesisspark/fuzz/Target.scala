package io.github.kinesisspark.fuzz

import scala.util.Try

/** Something that reads what others wrote, and what must hold of it whatever they wrote.
  *
  * Jazzer calls it by its class's static method `fuzzerTestOneInput`. Everything that is thrown is a finding, as are more time than a
  * few seconds and more memory than there is.
  */
trait Target {

  /** Of its corpus. */
  val name: String

  /** What it usually reads: where mutation begins. */
  def seeds: Seq[Array[Byte]]

  /** What inputs often have, for mutation. */
  def words: Seq[Array[Byte]] = Nil

  /** @throws Broken where what must hold doesn't */
  def check(input: Array[Byte]): Unit

  final def fuzzerTestOneInput(input: Array[Byte]): Unit = check(input)

  /** Jazzer's, too. Loads what there is to load, so that the first input doesn't look like one that hangs. */
  final def fuzzerInitialize(): Unit = seeds.foreach(seed => Try(check(seed)))
}

object Target {
  val all: Vector[Target] =
    Vector(
      OffsetText,
      PositionText,
      OptionTexts,
      AggregatedData,
      Frames,
      CborAnswers,
      JsonAnswers,
      PolledAnswers,
      PushedEvents,
      ListedShards,
      WrittenAnswers
    )
}

/** A property that doesn't hold. */
final class Broken(what: String) extends RuntimeException(what)

object Broken {
  def unless(holds: Boolean)(what: => String): Unit = if (!holds) throw new Broken(what)
}
