package io.github.kinesisspark.it.soak

import java.util.concurrent.atomic.AtomicReference

import scala.annotation.tailrec
import scala.concurrent.duration._

import org.apache.spark.sql.DataFrame

import io.github.kinesisspark.it.soak.Figures._

/** A query on enhanced fan-out and a nemesis. It warms up with a restart, suffers, drains without faults, and stops.
  *
  * @param print takes a line for each interval
  */
final class Soak(settings: Soak.Settings, print: ujson.Obj => Unit) extends AutoCloseable {
  import Soak._

  private val world     = new World(settings.shards)
  private val sink      = new LedgerSink
  private val pace      = new Pace
  private val retention = new Retention(world.server, world.stream)
  private val producer  = new Producer(world.server, world.stream, settings.keys, settings.recordsPerSecond)
  private val query     = new SoakQuery(() => world.query(take))
  private val nemesis   = new Nemesis(world, query, producer, pace)
  private val watch     = new AtomicReference(Watch.start)
  private val helpers   = new Helpers
  private val began     = Deadline.now
  private var heap      = Heap(Vector.empty)
  private var reportAt  = began + settings.interval

  def run(): Outcome = {
    val writing = helpers.every(50.millis)(producer.tick())
    helpers.every(Beat)(watch.updateAndGet(_.see(world.server.subscriptions.live, System.currentTimeMillis())): Unit)
    warmUp()
    val warm = Threads.now()
    suffer()
    writing.cancel(false)
    catchUp()
    var end = Threads.now()
    until(FlatWithin) { end = Threads.now(); warm.grown(end).isEmpty }
    query.stop()
    until(LeavingWithin)(world.server.subscriptions.live.isEmpty)
    Outcome(
      ledger = sink.ledger,
      written = producer.counters,
      batches = sink.batches,
      replays = sink.replayed,
      failures = query.failures,
      struck = nemesis.struck,
      deeds = nemesis.deeds,
      restarts = query.restarts,
      subscriptions = query.counters.updated("opened", world.server.subscriptions.opened),
      longestSilence = query.longestSilence,
      together = watch.get.longest,
      leftOver = world.server.subscriptions.live.map(_.toString),
      warm = warm,
      end = end,
      heap = heap,
      heapSlack = settings.heapSlack
    )
  }

  /** Whatever is made once is there afterwards. */
  private def warmUp(): Unit = {
    query.start()
    catchUp()
    query.stop()
    query.start()
    catchUp()
  }

  private def suffer(): Unit = {
    val start = Deadline.now
    for (act <- Plan.of(settings.seed, settings.length)) {
      val at = start + act.at
      until(at.timeLeft)(at.isOverdue())
      nemesis.act(act.deed)
    }
    until(StrikeWithin)(nemesis.isDone)
    nemesis.calm()
  }

  /** Until all that is written by now has been read, or has had its time. */
  private def catchUp(): Unit = {
    val written = producer.written
    until(DrainWithin)(sink.await(written, Beat)): Unit
  }

  /** Goes on with what is done all the time, until something holds, or the time is over. */
  private def until(patience: FiniteDuration)(holds: => Boolean): Unit = {
    val deadline              = patience.fromNow
    @tailrec def wait(): Unit = {
      query.look()
      nemesis.look()
      if (reportAt.isOverdue()) report()
      if (!holds && deadline.hasTimeLeft()) {
        helpers.pause(Beat.min(deadline.timeLeft))
        wait()
      }
    }
    wait()
  }

  private def take(batch: DataFrame, id: Long): Unit = {
    val rows = SoakQuery.rowsOf(batch)
    pace.pass()
    retention.running(id, rows)
    sink.add(id, rows)
  }

  private def report(): Unit = {
    reportAt += settings.interval
    heap = heap.and(Heap.now())
    print(
      obj(
        "seconds"         -> number((Deadline.now - began).toSeconds),
        "written"         -> number(producer.written),
        "records"         -> number(sink.ledger.records),
        "wrong"           -> number(sink.ledger.wrongs.size),
        "batches"         -> number(sink.batches),
        "restarts"        -> number(query.restarts),
        "failures"        -> number(query.failures.size),
        "struck"          -> number(nemesis.struck.values.sum),
        "opened"          -> number(world.server.subscriptions.opened),
        "resubscriptions" -> number(query.counters("resubscriptions")),
        "live"            -> number(world.server.subscriptions.live.size),
        "openShards"      -> number(world.server.streams.shards(world.stream).count(_.isOpen)),
        "threads"         -> number(Threads.now().all),
        "heapMb"          -> megabytes(heap.used.last),
        "silenceMillis"   -> number(query.longestSilence.toMillis),
        "deeds"           -> counts(nemesis.deeds)
      )
    )
  }

  override def close(): Unit = {
    helpers.close()
    try query.stop()
    finally world.close()
  }
}

object Soak {

  /** @param length    of the nemesis' part
    * @param interval  between two lines
    * @param heapSlack bytes that the heap may grow by
    */
  final case class Settings(
      seed: Long,
      length: FiniteDuration,
      interval: FiniteDuration,
      heapSlack: Long,
      shards: Int = 64,
      keys: Int = 2000,
      recordsPerSecond: Int = 1000
  )

  private val Beat = 250.millis

  /** The longest that a fault may hold records up: a silent subscription is found after 35 s. */
  private val DrainWithin   = 240.seconds
  private val StrikeWithin  = 90.seconds
  private val LeavingWithin = 30.seconds

  /** The pools of clients that nobody uses any more are closed after a minute. */
  private val FlatWithin = 65.seconds
}
