package io.github.kinesisspark.write.send

import scala.concurrent.duration._
import scala.util.Random

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators.seeds
import io.github.kinesisspark.Histories
import io.github.kinesisspark.config.{CallRetries, StreamRef}

/** Runs the sink's sender against a model of the service, over random rows, calls, answers in any order, refusals
  * and splits.
  */
class SendingModelSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  describe("the sink's sender against a model of the service") {
    it("has each record taken once despite refusals, within its buffer and the service's limits") {
      forAll(seeds, minSuccessful(Histories.of(150))) { seed =>
        val random = new Random(seed)
        val run    = new Run(random, ordered = random.nextBoolean(), losses = 0)
        run.finish()
        run.taken.map(_.row).sorted shouldBe run.writable
        run.bad.sorted shouldBe run.unwritable
        run.sending.totals.records shouldBe run.writable.size
        run.sending.heldBytes shouldBe 0
      }
    }

    it("has each record taken at least once if answers get lost") {
      forAll(seeds, minSuccessful(Histories.of(100))) { seed =>
        val run = new Run(new Random(seed), ordered = false, losses = 0.2)
        run.finish()
        run.taken.map(_.row).distinct.sorted shouldBe run.writable
      }
    }

    it("keeps the order of each key apart from repeats, if ordered") {
      forAll(seeds, minSuccessful(Histories.of(100))) { seed =>
        val run = new Run(new Random(seed), ordered = true, losses = 0.1)
        run.finish()
        run.taken.map(_.row).distinct.sorted shouldBe run.writable
        run.taken.groupBy(_.key).values.foreach { ofKey =>
          val rows = ofKey.map(_.row)
          rows shouldBe rows.sorted
        }
      }
    }
  }

  private final class Run(random: Random, ordered: Boolean, losses: Double) {
    private val stream   = StreamRef.ByName("events")
    private val maxCall  = if (random.nextBoolean()) 10L << 20 else 5L << 20
    private val large    = if (random.nextBoolean()) 2 << 20 else 1 << 20
    private val service  = new ServiceModel(random, 1 + random.nextInt(4), maxCall, large, failures = 0.05)
    private val settings = SendSettings(
      ordered,
      bufferSize = (1L << 20) * (1 + random.nextInt(16)),
      maxCalls = 1 + random.nextInt(8),
      CallRetries.default.within(10000.days)
    )
    private val keys    = 1 + random.nextInt(if (random.nextBoolean()) 5 else 2000)
    private val entries = Vector.tabulate(1 + random.nextInt(2500)) { row =>
      new Entry(stream, s"key-${random.nextInt(keys)}", None, Run.data(random), RowId("run", 0, row.toLong))
    }
    private var now      = 0L
    private var rows     = entries
    private var underWay = Vector.empty[(Long, Vector[Entry], Long)]
    var sending: Sending = Sending(settings)
    var bad              = Vector.empty[Long]

    def taken: Vector[ServiceModel.Log] = service.log
    private val (fit, unfit)            = entries.partition(_.size <= large)
    val (writable, unwritable)          = (fit.map(_.row.row), unfit.map(_.row.row))

    def finish(): Unit = {
      var steps = 0
      while (rows.nonEmpty || !sending.isEmpty) {
        steps += 1
        if (steps > 200_000) fail(s"after $steps steps, at $now ms, not done: ${sending.streams}")
        step()
      }
    }

    private def hasRoom   = sending.heldBytes < settings.bufferSize
    private def isPressed = rows.isEmpty || !hasRoom

    private def step(): Unit = {
      if (rows.nonEmpty && hasRoom) {
        // As the writer has it, a block ends with the row that makes it large.
        val small = rows.iterator.scanLeft(0L)(_ + _.weight).drop(1).takeWhile(_ < (64L << 10)).size
        val block = rows.take((1 + random.nextInt(50)).min(small + 1))
        sending = sending.add(block)
        rows = rows.drop(block.size)
      }
      if (random.nextInt(300) == 0) service.split()
      send()
      wait(if (rows.nonEmpty && hasRoom) random.nextInt(3) else 1 + random.nextInt(20))
    }

    @annotation.tailrec
    private def send(): Unit = {
      val (next, call) = sending.next(now, isPressed)
      sending = next
      call match {
        case None    => ()
        case Some(c) =>
          isWithinLimits(c.entries)
          underWay :+= ((c.call, c.entries, now + random.nextInt(100)))
          send()
      }
    }

    private def isWithinLimits(call: Vector[Entry]): Unit = {
      call should not be empty
      call.size should be <= 500
      call.map(_.size.toLong).sum should be <= (10L << 20)
      sending.calls.size should be <= settings.maxCalls
      // One record may always be held, whatever its size.
      sending.heldBytes should be < settings.bufferSize + (11L << 20)
      if (ordered) {
        val keys = sending.calls.values.flatMap(_._2.entries.map(_.partitionKey)).toVector
        keys.distinct.size shouldBe keys.size
      }
    }

    /** Time moves to the next answer at most, so that nothing waits for it in vain. */
    private def wait(millis: Int): Unit = {
      val due = underWay.map(_._3).minOption ++ sending.wakeAt(isPressed)
      if (isPressed) withClue("nothing will ever happen: ")(due should not be empty)
      now = math.max(now + millis, due.minOption.filter(_ => underWay.isEmpty).getOrElse(0L))
      val (here, later) = underWay.partition(_._3 <= now)
      underWay = later
      random.shuffle(here).foreach { case (call, entries, _) =>
        val answer =
          if (random.nextDouble() < losses) service.putUnacknowledged(entries, now) else service.put(entries, now)
        sending.answered(call, answer, now, random.nextDouble()) match {
          case Right(step) => sending = step.next; bad ++= step.bad.map(_.entry.row.row)
          case Left(end)   => fail(end.toString)
        }
      }
    }
  }

  private object Run {
    private val often = Vector(10 -> 900, 5000 -> 60, 200_000 -> 10, 1_000_000 -> 4, 1_800_000 -> 2, 3_000_000 -> 1)
    private val all   = often.flatMap { case (size, times) => Vector.fill(times)(size) }
    private val some  = often.map { case (size, _) => size -> new Array[Byte](size) }.toMap

    def data(random: Random): Array[Byte] = some(all(random.nextInt(all.size)))
  }
}
