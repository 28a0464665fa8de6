package io.github.kinesisspark.peers

import java.nio.ByteBuffer
import java.util.concurrent.atomic.LongAdder
import java.util.concurrent.{ConcurrentLinkedQueue, Executors, ScheduledExecutorService, TimeUnit}

import scala.jdk.CollectionConverters._

/** What this process has received, by any thread. A record of eight bytes carries the time at which it was put, by the clock that all processes of
  * the machine share.
  */
object Received {
  private val StampBytes  = 8
  private val EveryMillis = 50L

  private val bytes                                      = new LongAdder
  private val samples                                    = new ConcurrentLinkedQueue[(Long, Long)]
  private var reporter: Option[ScheduledExecutorService] = None

  def record(data: Array[Byte]): Unit = {
    bytes.add(data.length.toLong)
    if (data.length == StampBytes) {
      val put = ByteBuffer.wrap(data).getLong
      samples.add((put, System.nanoTime() - put)): Unit
    }
  }

  /** Reports the bytes so far, again and again. */
  def begin(): Unit = {
    bytes.reset()
    samples.clear()
    val clock = Executors.newSingleThreadScheduledExecutor()
    clock.scheduleAtFixedRate(() => reportBytes(), 0, EveryMillis, TimeUnit.MILLISECONDS): Unit
    reporter = Some(clock)
  }

  /** Reports the time of each put with the time that its record took, in ns. */
  def end(): Unit = {
    reporter.foreach { clock =>
      clock.shutdown()
      clock.awaitTermination(10, TimeUnit.SECONDS): Unit
    }
    reporter = None
    Peer.say(samples.asScala.map { case (put, took) => s"[$put,$took]" }.mkString("""{"samples":[""", ",", "]}"))
  }

  private def reportBytes(): Unit = Peer.say(s"""{"at":${System.nanoTime()},"bytes":${bytes.sum}}""")
}
