package io.github.kinesisspark.read.plan

import scala.concurrent.duration._
import scala.util.Random

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.kinesisspark.Generators._
import io.github.kinesisspark.Histories
import io.github.kinesisspark.position._
import io.github.kinesisspark.position.ShardPosition._

/** Runs planning against a model of the service, over random histories of writes, reshards, listings, batches and
  * restarts. A listing may be as old as any before it, but not older than what is past retention.
  */
class LineageModelSpec extends AnyFunSpec with Matchers with ScalaCheckPropertyChecks {
  describe("planning against a model of the service, with reshards, batches and restarts") {
    it(
      "reads every record once with parents first and keys in order, and keeps no ancestor of a read shard"
    ) {
      forAll(seeds, minSuccessful(Histories.of(1000))) { seed =>
        val history = new History(new Random(seed))
        (0 until 60).foreach(_ => history.step())
        history.finish()
        history.delivered.map(_.number).sorted shouldBe history.stream.all.flatMap(_.records).map(_.number).sorted
        history.inOrderOfKeys()
        history.parentsFirst()
        history.lost shouldBe empty
        // Nothing is left of what was.
        history.offset.streams(stream).shards.keySet shouldBe history.stream.open.map(_.id).toSet
      }
    }

    it("reports loss if unread records pass retention, and reads all other records once") {
      forAll(seeds, minSuccessful(Histories.of(1000))) { seed =>
        val history = new History(new Random(seed), expiring = true)
        (0 until 60).foreach(_ => history.step())
        history.finish()
        val delivered = history.delivered.map(_.number)
        delivered.distinct.size shouldBe delivered.size
        history.inOrderOfKeys()
        val missing =
          history.stream.all.flatMap(s => s.records.map(s.id -> _.number)).filterNot(r => delivered.contains(r._2))
        missing.map(_._2).filterNot(history.stream.expired) shouldBe empty
        if (missing.nonEmpty) history.lost should not be empty
        history.offset.streams(stream).shards.keySet shouldBe history.stream.open.map(_.id).toSet
      }
    }
  }

  private final class History(random: Random, expiring: Boolean = false) {
    private val arn           = io.github.kinesisspark.Generators.stream
    val stream                = new StreamModel(random, shards = 1 + random.nextInt(4))
    var offset: KinesisOffset = KinesisOffset.initial
    var lost: Set[String]     = Set.empty
    private var now           = 0L
    private var isHasty       = true
    private var batches       = Vector.empty[Vector[(String, Vector[StreamModel.Record])]]
    private var listings      = Vector(stream.listing)
    private var knowledge     = ShardKnowledge.none.listed(stream.listing, now)

    // What goes past retention before the query begins isn't lost to it.
    batch(_ => false)

    def delivered: Vector[StreamModel.Record] = batches.flatten.flatMap(_._2)

    def step(): Unit = {
      stream.pass()
      listings :+= stream.listing
      random.nextInt(20) match {
        case 0 | 1                => stream.split()
        case 2 | 3                => stream.merge()
        case 4                    => stream.double()
        case 5                    => stream.halve()
        case 6                    => knowledge = knowledge.listed(aListing(), now)
        case 7                    => restart()
        case 8 if expiring        => expire()
        case 8 | 9 | 10 | 11 | 12 => batch(_ => random.nextBoolean())
        case _                    => (0 to random.nextInt(5)).foreach(_ => stream.put())
      }
    }

    /** Reads until nothing moves and only what is open is left. */
    def finish(): Unit = {
      isHasty = false
      var rounds = 0
      while (rounds < 200 && (rounds < 3 || offset.streams(arn).shards.keySet != stream.open.map(_.id).toSet)) {
        knowledge = knowledge.listed(stream.listing, now)
        batch(_ => true)
        rounds += 1
      }
      batch(_ => true)
    }

    def inOrderOfKeys(): Unit =
      delivered.groupBy(_.key).values.foreach(records => records.map(_.number) shouldBe records.map(_.number).sorted)

    /** Between batches, because within one there is no order among shards. */
    def parentsFirst(): Unit = {
      val places = batches.zipWithIndex.flatMap { case (ranges, i) => ranges.map(_._1 -> i) }.groupMap(_._1)(_._2)
      for (child <- stream.all; parent <- child.parents; last <- places.get(parent); first <- places.get(child.id))
        last.max should be < first.min
    }

    private def expire(): Unit = {
      stream.expire()
      listings = Vector.empty
      now += 24.hours.toNanos
    }

    /** Mostly the present one. */
    private def aListing() =
      if (listings.nonEmpty && random.nextInt(3) == 0) listings(random.nextInt(listings.size)) else stream.listing

    private def restart(): Unit = {
      knowledge = ShardKnowledge.none.listed(aListing(), now)
      offset = OffsetJson.read(OffsetJson.write(offset))
    }

    private def view = {
      val lineage = knowledge.lineage
      PlanningState(
        offset,
        Map(arn -> PlanningState.Stream(1L, lineage, lineage.begun(lineage.roots.map(_ -> TrimHorizon))))
      )
    }

    /** Whether they still exist: a listing follows where the service doesn't find one. */
    private def ask(ids: Iterable[String]): Unit = {
      val notFound = ids.filter(stream.isExpired)
      if (notFound.nonEmpty) {
        val listing = aListing()
        knowledge = knowledge.listed(listing, now).denied(notFound.filterNot(listing.map(_.id).toSet), now)
      }
    }

    private def batch(chosen: ShardKey => Boolean): Unit = {
      ask(view.doubtful.map(_.shardId))
      val planning = view
      lost ++= planning.pastRetention.map(_.shardId)
      val reading = (planning.reading -- planning.pastRetention).filter(s => chosen(s._1))
      // The service refuses to read some.
      ask(reading.keys.map(_.shardId))
      val moved = reading.filterNot(s => stream.isExpired(s._1.shardId)).map { case (shard, from) =>
        shard -> readOn(shard.shardId, from)
      }
      val ended = moved.collect { case (shard, ShardEnd) => shard.shardId }
      val end   = planning.end(moved ++ planning.pastRetention.map(_ -> ShardEnd))
      batches = batches :+ (offset.rangesTo(end).map(r => r.shard.shardId -> recordsOf(r)))
      offset = end
      disjoint()
      // As the service does with a shard's last answer, and some servers don't.
      if (random.nextBoolean()) ended.foreach(id => knowledge = knowledge.withChildren(stream.children(id), now))
    }

    /** A random part of what is there; past the last record of a closed shard its end. */
    private def readOn(id: String, from: ShardPosition): ShardPosition = {
      val ahead = stream.records(id).filter(r => isAfter(r, from))
      val take  = if (isHasty && random.nextInt(3) == 0) random.nextInt(ahead.size + 1) else ahead.size
      if (take == ahead.size && stream.isClosed(id)) ShardEnd
      else ahead.take(take).lastOption.fold(from)(r => AfterSequenceNumber(number(r.number)))
    }

    private def recordsOf(range: ShardRange): Vector[StreamModel.Record] =
      stream.records(range.shard.shardId).filter(r => isAfter(r, range.start) && !isAfter(r, range.end))

    private def isAfter(record: StreamModel.Record, position: ShardPosition) = position match {
      case AfterSequenceNumber(n) => number(record.number) > n
      case ShardEnd               => false
      case _                      => true
    }

    /** Shards of the offset share no hash key, so there are never more than the keys were ever divided into. Where shards are
      * lost, they and finished ones may stay a little longer.
      */
    private def disjoint(): Unit = {
      val shards = offset
        .streams(arn)
        .shards
        .filterNot { case (id, at) =>
          expiring && (at.position == ShardEnd || stream.isExpired(id))
        }
        .keySet
      val keys = stream.all.filter(s => shards(s.id)).map(_.keys).sortBy(_.start)
      keys.zip(keys.drop(1)).foreach { case (a, b) => a.end should be < b.start }
    }
  }
}
