package io.github.kinesisspark.benchmarks.peers

import scala.concurrent.duration._

import io.github.kinesisspark.benchmarks.ServerProcess

/** How fast a reader goes through a backlog.
  *
  * @param startSeconds until its first record
  * @param parts        of the time that counts, one after the other
  * @param bytes        all that it read, with the warm-up before those parts
  */
final case class CatchUp(startSeconds: Double, parts: Seq[CatchUp.Part], bytes: Long)

object CatchUp {

  /** What a process reads of the backlog, again and again, before the round that counts: as much by each reader, as an engine's code is compiled while it
    * reads.
    */
  val BytesBefore   = 10000000000L
  val WarmBytes     = 2000000000L
  val CountedBytes  = 1500000000L
  val LongestWarmup = 25.seconds
  val LongestCount  = 21.seconds

  private val Parts    = 3
  private val Patience = 120.seconds

  final case class Part(bytes: Long, seconds: Double, cpuSeconds: Double, serverCpuSeconds: Double) {
    def mbPerSecond: Double = bytes / 1e6 / seconds
    def cpuPerGb: Double    = cpuSeconds / (bytes / 1e9)
  }

  /** Where the reader is.
    *
    * @param at by the clock that all processes share, in ns
    */
  private final case class Mark(at: Long, bytes: Long, cpu: Double, server: Double) {
    def since(before: Mark): Part =
      Part(bytes - before.bytes, (at - before.at) / 1e9, cpu - before.cpu, server - before.server)
  }

  /** Of a reader that begins to read now, and continues afterwards. */
  def measure(reader: PeerProcess, server: ServerProcess): CatchUp = {
    def mark(at: Long, bytes: Long)                     = Mark(at, bytes, reader.cpuSeconds, server.cpuSeconds)
    def await(enough: Long, latest: Option[Long]): Mark = {
      val reported    = reader.next()
      val (at, bytes) = (reported("at").num.toLong, reported("bytes").num.toLong)
      if (bytes >= enough || latest.exists(at - _ >= 0)) mark(at, bytes) else await(enough, latest)
    }
    val asked = System.nanoTime()
    val first = await(1, Some(asked + Patience.toNanos))
    if (first.bytes == 0) throw new IllegalStateException(s"No record came within $Patience")
    val warm  = await(WarmBytes, Some(first.at + LongestWarmup.toNanos))
    val marks = (1 to Parts).scanLeft(warm) { (before, _) =>
      // A reader in batches reports nothing between them.
      await(
        (before.bytes + CountedBytes / Parts).max(before.bytes + 1),
        Some(before.at + LongestCount.toNanos / Parts)
      ) match {
        case same if same.bytes == before.bytes => await(before.bytes + 1, Some(before.at + Patience.toNanos))
        case later                              => later
      }
    }
    val parts = marks.zip(marks.tail).map { case (before, after) => after.since(before) }
    if (parts.exists(_.bytes == 0)) throw new IllegalStateException(s"No record came within $Patience of the last")
    CatchUp((first.at - asked) / 1e9, parts, marks.last.bytes)
  }
}
