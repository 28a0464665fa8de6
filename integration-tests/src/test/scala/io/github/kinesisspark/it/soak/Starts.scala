package io.github.kinesisspark.it.soak

import java.util.concurrent.TimeUnit

import scala.annotation.tailrec
import scala.concurrent.duration._

import io.github.kinesisspark.it.soak.Figures._

/** A query that is started, reads, and is stopped, many times in one session, by polling and by fan-out in turn: nothing may be left
  * behind.
  *
  * @param print takes a line for each look at what there is
  */
final class Starts(settings: Starts.Settings, print: ujson.Obj => Unit) extends AutoCloseable {
  import Starts._

  private val world    = new World(shards = 4)
  private val producer = new Producer(world.server, world.stream, keys = 40, perSecond = 0)
  private val sink     = new LedgerSink
  private var looks    = Vector.empty[Look]

  /** What is wrong with it. */
  def run(): Vector[String] = {
    for (number <- 1 to settings.starts) {
      once(number)
      if (number % settings.every == 0) look(number)
    }
    complaints
  }

  private def once(number: Int): Unit = {
    producer.burst(Records)
    val query = world.query((batch, id) => sink.add(id, SoakQuery.rowsOf(batch)), Publishers(number % Publishers.size))
    try sink.await(producer.written, Patience): Unit
    finally query.stop()
  }

  private def look(number: Int): Unit = {
    // Clients are kept for a minute after their last use, so the pools come and go with the pace of the starts.
    val now =
      Look(number, Heap.now(), Threads.now(), Handles.now(), world.temporaryFiles, world.server.subscriptions.live.size)
    looks :+= now
    print(now.json)
  }

  private def complaints: Vector[String] = {
    awaitNone(LeavingWithin.fromNow)
    val (first, last) = (looks.head, looks.last)
    sink.ledger.unfinished(producer.counters).map(_.toString) ++ sink.ledger.wrongs.map(_.toString) ++
      first.threads.grown(last.threads) ++ first.handles.grown(last.handles) ++
      Option.when(last.files > first.files + FewFiles)(s"temporary files: first ${first.files}, later ${last.files}") ++
      world.server.subscriptions.live.map(s => s"after all queries have stopped there is still $s") ++
      Option
        .unless(Heap(looks.map(_.heap)).isFlat(settings.heapSlack))(s"the heap grows: ${looks.map(_.heap >> 20)} MB")
  }

  @tailrec private def awaitNone(deadline: Deadline): Unit =
    if (world.server.subscriptions.live.nonEmpty && deadline.hasTimeLeft()) {
      TimeUnit.MILLISECONDS.sleep(100)
      awaitNone(deadline)
    }

  override def close(): Unit = world.close()
}

object Starts {

  /** @param every     so many starts it is looked at what there is
    * @param heapSlack bytes that the heap may grow by
    */
  final case class Settings(starts: Int, every: Int, heapSlack: Long)

  private val Publishers = Vector(Map("recordPublisher" -> "efo"), Map("recordPublisher" -> "polling"))

  private val Records       = 40
  private val Patience      = 180.seconds
  private val LeavingWithin = 30.seconds

  /** Spark's own, of what is under way. */
  private val FewFiles = 20

  /** What there is after some starts.
    *
    * @param files below Spark's directory for temporary files
    */
  private final case class Look(
      starts: Int,
      heap: Long,
      threads: Threads,
      handles: Handles,
      files: Int,
      subscriptions: Int
  ) {
    def json: ujson.Obj = obj(
      "starts"        -> number(starts),
      "heapMb"        -> megabytes(heap),
      "threads"       -> number(threads.all),
      "sockets"       -> number(handles.sockets),
      "openFiles"     -> number(handles.files),
      "tempFiles"     -> number(files),
      "subscriptions" -> number(subscriptions)
    )
  }
}
