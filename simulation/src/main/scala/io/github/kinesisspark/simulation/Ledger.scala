package io.github.kinesisspark.simulation

import scala.collection.mutable

import io.github.kinesisspark.position._

/** One record as a task returns it. */
final case class Row(stream: String, shard: String, number: BigInt, data: String)

/** What stays when a driver dies: Spark's two logs, as they are on disk. Each file is written once. */
final class Checkpoint {
  private val offsets    = mutable.ArrayBuffer.empty[Vector[String]]
  private val inRealTime = mutable.HashSet.empty[Int]
  private var done       = 0

  /** The ends of all batches that were planned, of each source, as JSON. */
  def planned: Vector[Vector[String]] = offsets.toVector
  def committed: Int                  = done

  /** Whether the last run's batch is to run again. */
  def hasUncommitted: Boolean = offsets.size > done

  /** Whether a batch had run in real-time mode when it was planned. It may run again as a micro-batch. */
  def isRealTime(batch: Int): Boolean = inRealTime(batch)

  /** @throws Checkpoint.Lost where another driver has written the file */
  def plan(batch: Int, ends: Vector[String], isRealTime: Boolean): Unit = {
    if (batch != offsets.size) throw Checkpoint.Lost
    offsets += ends
    if (isRealTime) inRealTime += batch
  }

  /** @throws Checkpoint.Lost where another driver has written the file, or deleted what was planned */
  def commit(batch: Int, ends: Vector[String]): Unit = {
    if (batch != done || !offsets.lift(batch).contains(ends)) throw Checkpoint.Lost
    done += 1
  }

  /** As a run in real-time mode begins: it plans a batch that was not committed anew. */
  def deleteUncommitted(): Unit = {
    offsets.dropRightInPlace(offsets.size - done)
    inRealTime -= done
  }
}

object Checkpoint {
  case object Lost
      extends Exception("Multiple streaming queries are concurrently using the checkpoint", null, false, false)
}

/** One query over all its runs and drivers: its checkpoint, and of each source what was delivered.
  *
  * @param wrong hears what does not hold
  */
final class Ledger(world: World, val query: QuerySettings, wrong: String => Unit) {
  val checkpoint                    = new Checkpoint
  val sources: Vector[SourceLedger] = query.sources.map(new SourceLedger(world, query.name, _, wrong))

  private var runs = 0

  /** How the latest run runs. */
  def run: RunSettings = query.run((runs - 1).max(0))

  /** Another run begins: how it runs, and what of that has changed. Where a query starts counts until a batch is committed. */
  def nextRun(): (RunSettings, Vector[String]) = {
    val before = run
    runs += 1
    val changes = if (runs == 1) Vector.empty else run.changes(before)
    (if (checkpoint.committed == 0) run.copy(options = run.options - "startingPosition") else run, changes)
  }

  /** It has failed because records were lost, as it should, or was stopped for good. */
  private[simulation] var hasEnded = false

  /** When it was stopped for good, by the service's clock, if it could deregister its consumers then. */
  private[simulation] var leftAt = Option.empty[Long]

  /** Whether its latest run registers a consumer of that name. */
  private[simulation] def registers(name: String): Boolean =
    query.sources.map(_.options ++ run.options).exists { options =>
      options.get("recordPublisher").contains("efo") && options.get("efo.consumerName").contains(name)
    }

  def delivered: Int      = sources.map(_.delivered).sum
  def isComplete: Boolean = hasEnded || sources.forall(_.missing.isEmpty)
  def missing: String     = sources.flatMap(s => s.missing.map(m => s"${query.name}: $m")).mkString("; ")
}

/** What one source has delivered, and what must hold of it. */
final class SourceLedger(world: World, query: String, source: SourceSettings, wrong: String => Unit) {
  private val rows    = mutable.HashMap.empty[(String, BigInt), Int]
  private val byShard = mutable.HashMap.empty[ShardKey, Int]
  private val begun   = mutable.HashMap.empty[ShardKey, Int]
  private val first   = mutable.HashMap.empty[Int, Map[ShardKey, Seq[BigInt]]]
  private var start   = KinesisOffset.initial
  private var last    = Iterable.empty[ShardKey]

  def delivered: Int = rows.size

  private def fail(what: String): Unit = wrong(s"$query: $what")

  private def shardOf(key: ShardKey): Kinesis.Shard = world.stream(key.stream.name).shard(key.shardId)

  private def keyOf(row: Row) = ShardKey(world.arnOf(row.stream), row.shard)

  private def ofShards(some: Seq[Row]): Map[ShardKey, Seq[BigInt]] =
    some.groupBy(keyOf).map { case (key, its) => key -> its.map(_.number) }

  /** A batch is planned: each shard goes on where it was, none is dropped before it is read to its end and its children are there, and none begins before
    * its parents have ended.
    *
    * @param since      when the query's run began, by the service's clock
    * @param isRealTime the batch has run in real-time mode, where children begin as soon as their parents have ended
    */
  def planned(from: String, to: String, since: Long, isRealTime: Boolean): Unit = {
    val (start, end) = (OffsetJson.read(from), OffsetJson.read(to))
    if (start.streams.isEmpty) {
      this.start = end
      beginsAsAsked(end, since)
    }
    end.shards.foreach { case (key, progress) => beginsInTime(key, progress.firstPosition) }
    val before = start.shards.toMap
    val after  = end.shards.toMap
    last = after.keys
    before.foreach { case (key, progress) =>
      (progress.position, after.get(key).map(_.position)) match {
        case (ShardPosition.ShardEnd, None) =>
          if (!childrenOf(key).forall(isKnown(after, _))) fail(s"$key is left out, and its children are not there")
        case (at, None)     => fail(s"$key is left out at $at")
        case (at, Some(to)) => if (placeOf(key, to) < placeOf(key, at)) fail(s"$key goes back from $at to $to")
      }
    }
    if (before.nonEmpty && !isRealTime) after.keys.filterNot(before.contains).foreach { key =>
      parentsOf(key).filter(before.contains).foreach { parent =>
        if (before(parent).position != ShardPosition.ShardEnd)
          fail(s"$key begins before its parent $parent has ended")
      }
    }
  }

  /** The first batch has all shards that the query's options ask for, or shards that they come from. Each begins where the options say, and a child of
    * another one at its beginning.
    */
  private def beginsAsAsked(end: KinesisOffset, since: Long): Unit = {
    val firsts = end.shards.map { case (key, progress) =>
      key -> progress.firstPosition.getOrElse(progress.position)
    }.toMap
    all
      .filter(key => isAskedFor(key) && !isBegun(firsts, key))
      .foreach(key => fail(s"the first batch has neither $key nor a shard that it comes from"))
    firsts.foreach { case (key, at) =>
      val isRight = at match {
        case ShardPosition.ShardEnd                                              => world.isGone(key)
        case ShardPosition.TrimHorizon if parentsOf(key).exists(firsts.contains) => true
        case _                                                                   => isBeginning(key, at, since)
      }
      if (!isRight) fail(s"$key begins at $at, with startingPosition ${source.position.getOrElse("left out")}")
    }
  }

  private def isAskedFor(key: ShardKey) = !world.isGone(key) && (askedFor(key) match {
    case Some(ShardPosition.AtTimestamp(time)) => shardOf(key).closedAt.forall(_ > time)
    case Some(_)                               => true
    case None                                  => shardOf(key).isOpen
  })

  /** It, or one that it comes from. */
  private def isBegun(shards: Map[ShardKey, Any], key: ShardKey): Boolean =
    shards.contains(key) || parentsOf(key).exists(isBegun(shards, _))

  /** Where the query's options have a shard begin; nothing for LATEST, and for a shard that given positions leave out. */
  private def askedFor(key: ShardKey): Option[ShardPosition] = source.position.flatMap { text =>
    val its =
      if (!text.startsWith("{")) Some(text)
      else
        for {
          ofStream <- s""""${key.stream.name}": \\{([^}]*)""".r.findFirstMatchIn(text)
          ofShard  <- s""""${key.shardId}": "([^"]+)"""".r.findFirstMatchIn(ofStream.group(1))
        } yield ofShard.group(1)
    its.flatMap(ShardPosition.decode(_).toOption)
  }

  private def isBeginning(key: ShardKey, at: ShardPosition, since: Long) = askedFor(key) match {
    case Some(ShardPosition.AtTimestamp(time)) => isAtTime(key, at, time, time)
    case Some(position)                        => at == position
    // The service gives its time to the second.
    case None => isAtTime(key, at, since - 1000, world.stream(key.stream.name).now)
  }

  /** Whether it is a time in between, or the first record since then. */
  private def isAtTime(key: ShardKey, at: ShardPosition, earliest: Long, latest: Long) = at match {
    case ShardPosition.AtTimestamp(time)        => earliest <= time && time <= latest
    case ShardPosition.AtSequenceNumber(number) =>
      val shard = shardOf(key)
      val index = shard.indexAbove(BigInt(number.text) - 1)
      earliestAt(shard, earliest) <= index && index <= latestAt(shard, latest)
    case _ => false
  }

  /** A shard that begins at a time does so with a record that is not too late. One may be given by its number. */
  private def beginsInTime(key: ShardKey, from: Option[ShardPosition]): Unit = from.foreach {
    case ShardPosition.AtSequenceNumber(number) if !source.position.exists(_.startsWith("{")) =>
      val shard = shardOf(key)
      val index = shard.indexAbove(BigInt(number.text) - 1)
      val sure  = latestAt(shard, timeOf(key))
      if (index > sure) fail(s"$key begins with record $index, and record $sure arrived in time")
    case _ => ()
  }

  /** The time that the stream's shards begin at. Where no offset has it any more, a later one. */
  private def timeOf(key: ShardKey): Long =
    source.position
      .flatMap(ShardPosition.decode(_).toOption)
      .orElse(start.streams.get(key.stream).flatMap(_.shards.values.map(_.position).find(_.isTime)))
      .collect { case ShardPosition.AtTimestamp(time) => time }
      .getOrElse(world.stream(key.stream.name).now)

  /** Whether the last batch has a shard that listings may lack. */
  private[simulation] def isAhead: Boolean =
    last.exists(key => !world.stream(key.stream.name).isShown(shardOf(key)))

  private def placeOf(key: ShardKey, at: ShardPosition): Int = at match {
    case ShardPosition.TrimHorizon | _: ShardPosition.AtTimestamp => -1
    case ShardPosition.ShardEnd                                   => Int.MaxValue
    case other                                                    => endOf(shardOf(key), other)
  }

  private def parentsOf(key: ShardKey) = shardOf(key).parents.map(ShardKey(key.stream, _))

  private def childrenOf(key: ShardKey) =
    world.stream(key.stream.name).all.filter(_.parents.contains(key.shardId)).map(s => ShardKey(key.stream, s.id))

  /** It, or its descendants. */
  private def isKnown(shards: Map[ShardKey, Any], key: ShardKey): Boolean =
    shards.contains(key) || { val next = childrenOf(key); next.nonEmpty && next.forall(isKnown(shards, _)) }

  /** What an attempt of a task has read: exactly its ranges. */
  def readBy(ranges: Vector[ShardRange], some: Vector[Row]): Unit = {
    val read = ofShards(some)
    (read.keySet -- ranges.map(_.shard)).foreach(key => fail(s"a task has read $key, which it was not to"))
    ranges.groupBy(_.shard).foreach { case (key, its) =>
      val rest = contiguous(its).foldLeft[Seq[BigInt]](read.getOrElse(key, Nil)) { (found, range) =>
        val (own, later) = found.span(isUpTo(range, _))
        faultOf(range, own).foreach(what => fail(s"a task of $its: $what"))
        later
      }
      if (rest.nonEmpty) fail(s"a task of $its has read ${rest.size} records too many")
    }
  }

  /** What an attempt has read that took no more: of each shard what its ranges begin with. */
  def readInPart(ranges: Vector[ShardRange], some: Vector[Row]): Unit = {
    val parts = ofShards(some).flatMap { case (key, its) =>
      val (read, rest) = ranges.filter(_.shard == key).span(!isUpTo(_, its.last))
      read ++ rest.headOption.map(
        _.copy(end = ShardPosition.AfterSequenceNumber(SequenceNumber(its.last.toString)))
      )
    }
    readBy(parts.toVector, some)
  }

  private def contiguous(ranges: Vector[ShardRange]) = ranges.foldLeft(Vector.empty[ShardRange]) { (before, range) =>
    before.lastOption match {
      case Some(last) if last.end == range.start => before.init :+ ShardRange(last.shard, last.start, range.end)
      case _                                     => before :+ range
    }
  }

  private def isUpTo(range: ShardRange, number: BigInt) = {
    val shard = shardOf(range.shard)
    shard.indexAbove(number) <= endOf(shard, range.end)
  }

  private def isLossy = world.settings.kinesis.oldRecords > 0 && source.mayLoseRecords

  private def startOf(shard: Kinesis.Shard, at: ShardPosition): Int = at match {
    case ShardPosition.ShardEnd => throw new IllegalStateException("a batch begins at a shard's end")
    case other                  => endOf(shard, other)
  }

  private def endOf(shard: Kinesis.Shard, at: ShardPosition): Int = at match {
    case ShardPosition.ShardEnd               => shard.records.size
    case ShardPosition.AfterSequenceNumber(n) => shard.indexAbove(BigInt(n.text))
    case ShardPosition.AtSequenceNumber(n)    => shard.indexAbove(BigInt(n.text) - 1)
    case ShardPosition.TrimHorizon            => 0
    case other                                => throw new IllegalStateException(s"a batch begins or ends at $other")
  }

  /** What is wrong with the records that were read of a range. */
  private def faultOf(range: ShardRange, found: Seq[BigInt]): Option[String] = {
    val shard = shardOf(range.shard)
    val from  = range.start match {
      case ShardPosition.AtTimestamp(time) => firstAt(range.shard, shard, time, found)
      case at                              => startOf(shard, at)
    }
    val expected = shard.records.slice(from, endOf(shard, range.end))
    if (expected.map(_.number) == found) None
    else {
      val missing = expected.filterNot(r => found.contains(r.number))
      val more    = found.diff(expected.map(_.number))
      // What is past retention may be left out, and nothing else: where a range begins after a record, nobody can tell what came next.
      val lacks = missing.filterNot(shard.records.indexOf(_) < shard.trimmed)
      // Whether the range's last record was there is looked at, where records must not be lost and the range names it.
      val namesEnd = range.end.isInstanceOf[ShardPosition.AfterSequenceNumber]
      val lacksEnd = !isLossy && namesEnd && found.lastOption != expected.lastOption.map(_.number)
      if (lacks.isEmpty && more.isEmpty && !lacksEnd && found == found.sorted) None
      else
        Some(
          s"${found.size} records where it has ${expected.size}; missing ${lacks.size}, too many ${more.size}" +
            (if (found == found.sorted) "" else ", out of order")
        )
    }
  }

  /** A record that arrived before the time may come, as the shard's arrivals go back; none that arrived later may be left out. */
  private def firstAt(key: ShardKey, shard: Kinesis.Shard, time: Long, found: Seq[BigInt]): Int = begun.getOrElse(
    key, {
      val sure = latestAt(shard, time)
      found.headOption.fold(sure)(n => shard.records.indexWhere(_.number == n).max(earliestAt(shard, time)).min(sure))
    }
  )

  private def earliestAt(shard: Kinesis.Shard, time: Long) =
    shard.records.lastIndexWhere(_.arrived < time - world.settings.kinesis.arrivalsBackMillis) + 1

  private def latestAt(shard: Kinesis.Shard, time: Long) = {
    val index = shard.records.indexWhere(_.arrived >= time)
    if (index < 0) shard.records.size else index
  }

  /** A batch has run, for the first time or again: it has what its offsets say, always the same, and its tasks' ranges cover it.
    *
    * @param isRealTime it has run in real-time mode
    */
  def ran(
      batch: Int,
      from: String,
      to: String,
      tasks: Vector[ShardRange],
      some: Vector[Row],
      isRealTime: Boolean
  ): Unit = {
    val ranges = OffsetJson.read(from).rangesTo(OffsetJson.read(to))
    val found  = ofShards(some)
    (found.keySet -- ranges.map(_.shard)).foreach(key => fail(s"batch $batch has records of $key, which it has not"))
    tile(batch, ranges, tasks, isRealTime)
    ranges.foreach { range =>
      // Several tasks may share a range; each is looked at by itself.
      val its = found.getOrElse(range.shard, Nil)
      faultOf(range, if (tasks.count(_.shard == range.shard) > 1) its.sorted else its)
        .foreach(what => fail(s"batch $batch, $range: $what"))
    }
    first.get(batch).foreach { before =>
      if (!isLossy && kept(before) != kept(found)) fail(s"batch $batch has other records than when it ran before")
    }
    first.getOrElseUpdate(batch, found)
    first -= batch - 2
  }

  /** A batch is planned anew, with another end. */
  private[simulation] def forget(batch: Int): Unit = first -= batch

  /** Without what is past retention, in any order: another driver's tasks may cut a range elsewhere. */
  private def kept(some: Map[ShardKey, Seq[BigInt]]) = some
    .map { case (key, its) =>
      val shard = shardOf(key)
      key -> (if (shard.trimmed == 0) its else its.filter(n => shard.indexAbove(n - 1) >= shard.trimmed)).sorted
    }
    .filter(_._2.nonEmpty)

  private def tile(batch: Int, ranges: Vector[ShardRange], tasks: Vector[ShardRange], isRealTime: Boolean): Unit =
    ranges.foreach { range =>
      val parts = tasks.filter(_.shard == range.shard)
      val ends  = parts.map(p => p.start -> p.end).toMap
      var at    = range.start
      var steps = 0
      while (at != range.end && ends.contains(at) && steps < parts.size) {
        at = ends(at)
        steps += 1
      }
      // In real-time mode a query goes on from the end of a shard that is past retention, without a task.
      val isSkipped = isRealTime && isLossy && parts.isEmpty && world.isGone(range.shard)
      if (!isSkipped && (at != range.end || steps != parts.size))
        fail(s"batch $batch: the tasks' ranges $parts do not cover $range")
    }

  /** No record comes twice, and children come after their parents' last.
    *
    * @param isRealTime the batch was planned in real-time mode, where children may come in the batch of their parents
    */
  def committed(batch: Int, some: Vector[Row], isRealTime: Boolean): Unit = {
    val found = ofShards(some)
    some.foreach { row =>
      if (rows.put((row.stream + row.shard, row.number), batch).isDefined)
        fail(s"batch $batch: ${row.data} of ${row.shard} comes again")
    }
    def add() = found.foreach { case (key, its) =>
      if (!begun.contains(key) && isTimed(key)) begun(key) = shardOf(key).records.indexWhere(_.number == its.head)
      byShard(key) = byShard.getOrElse(key, 0) + its.size
    }
    if (isRealTime) add()
    found.keys.foreach { key =>
      parentsOf(key).foreach { parent =>
        if (!isLossy && !isRead(parent))
          fail(s"batch $batch has records of $key, whose parent $parent is not read: ${shown(parent)}")
      }
    }
    if (!isRealTime) add()
  }

  private def isTimed(key: ShardKey) =
    start.progress(key).exists(p => p.firstPosition.getOrElse(p.position).isTime)

  /** It was there when the query began. */
  private def isFirst(key: ShardKey) = start.progress(key).isDefined

  /** Of a stream that the query knows: the first record that it has to read. */
  private def firstOf(key: ShardKey): Int = {
    val shard = shardOf(key)
    begun.getOrElse(
      key,
      start.progress(key).map(p => p.firstPosition.getOrElse(p.position)) match {
        case Some(ShardPosition.AtTimestamp(time)) => firstAt(key, shard, time, Nil)
        case Some(ShardPosition.ShardEnd)          => shard.records.size
        case Some(at)                              => endOf(shard, at)
        // Its parents were read from a time on, or it ended before that.
        case None if isBefore(key) => shard.records.size
        case None                  => 0
      }
    )
  }

  /** It ended before the query began. */
  private def isBefore(key: ShardKey): Boolean =
    start.streams.get(key.stream).exists(_ => childrenOf(key).exists(child => isFirst(child) || isBefore(child)))

  private def isRead(key: ShardKey) = {
    val shard = shardOf(key)
    val want  = shard.records.size - firstOf(key)
    byShard.getOrElse(key, 0) >= want || lostOf(key, shard) >= want - byShard.getOrElse(key, 0)
  }

  /** Records past retention that were not read. */
  private def lostOf(key: ShardKey, shard: Kinesis.Shard) =
    if (shard.trimmed == 0) 0
    else shard.records.iterator.take(shard.trimmed).count(r => !rows.contains((key.stream.name + shard.id, r.number)))

  /** Whether records of each range that a message says are lost are past retention. */
  def excuses(message: String): Boolean = {
    val named = SourceLedger.Lost.findAllMatchIn(message).toVector
    named.nonEmpty && named.forall { range =>
      val until = Option(range.group(3)).map(placed)
      all.find(_.toString == range.group(1)).exists { key =>
        val shard = shardOf(key)
        val from  = placed(Option(range.group(2)).getOrElse(range.group(4))) match {
          case ShardPosition.AtTimestamp(time) => firstAt(key, shard, time, Nil)
          case position                        => startOf(shard, position)
        }
        from < until.fold(shard.records.size)(endOf(shard, _)).min(shard.trimmed) ||
        (until.forall(_ == ShardPosition.ShardEnd) && world.isGone(key))
      }
    }
  }

  private def placed(text: String) =
    ShardPosition.decode(text).fold(why => throw new IllegalArgumentException(why), identity)

  private def all = source.streams.flatMap(name => world.stream(name).all.map(s => ShardKey(world.arnOf(name), s.id)))

  private def shown(key: ShardKey) =
    s"${key.shardId} ${byShard.getOrElse(key, 0)}/${shardOf(key).records.size - firstOf(key)}"

  /** How many records of each shard a run has to read that ends with what is there: an answer may lack the latest second. So may a listing
    * lack shards while listings are old.
    */
  private[simulation] def there: Map[ShardKey, Int] = all
    .filter(key => world.stream(key.stream.name).isShown(shardOf(key)))
    .map(key => key -> arrivedBefore(key, world.stream(key.stream.name).now - 1000))
    .toMap

  /** How many records of each shard the service has acknowledged, and shows to each who asks. */
  private[simulation] def acknowledged: Map[ShardKey, Int] = all.map { key =>
    val isSure = world.settings.kinesis.staleAnswers == 0
    key -> (if (isSure) shardOf(key).records.size else arrivedBefore(key, world.stream(key.stream.name).now - 1000))
  }.toMap

  private def arrivedBefore(key: ShardKey, time: Long) = {
    val later = shardOf(key).records.indexWhere(_.arrived > time)
    if (later < 0) shardOf(key).records.size else later
  }

  /** The same of one batch, which begins there. */
  private[simulation] def thereOf(from: String): Map[ShardKey, Int] = {
    val begun = OffsetJson.read(from).shards.map(_._1).toSet
    there.filter { case (key, _) => begun(key) || shardOf(key).parents.isEmpty }
  }

  /** All of these are delivered, but for what is past retention.
    *
    * @param what has found so
    * @param when they were there
    */
  private[simulation] def has(there: Map[ShardKey, Int], what: String, when: String): Unit = there.foreach {
    case (key, until) =>
      val shard = shardOf(key)
      val left  = shard.records.slice(firstOf(key).max(shard.trimmed), until).filterNot { r =>
        rows.contains((key.stream.name + shard.id, r.number))
      }
      if (left.nonEmpty) fail(s"$what has not read ${left.size} records of $key that were $when")
  }

  /** What is not read. */
  def missing: Option[String] = {
    val left = all.filterNot(isRead)
    Option.when(left.nonEmpty || start.streams.isEmpty)(
      if (left.isEmpty) "no batch" else left.map(shown).mkString(", ")
    )
  }
}

private object SourceLedger {

  /** A range in a message of lost records: between two positions, or from one on. */
  private val Lost = raw"(\S+/shardId-\d+) (?:between (\S+) and ([^\s,]+)|\(?from (\S+))".r
}
