package io.github.kinesisspark.simulation

import scala.collection.mutable

import io.github.kinesisspark.position.{HashKey, HashKeyRange}
import io.github.kinesisspark.simulation.Kinesis._

/** One stream of the service, as far as its clients can see it. Time is in ms since 1970, by the service's clock, which never errs.
  *
  * It leaves out: limits by bytes a second, encryption, modes, quotas of the account over several streams.
  */
final class Kinesis(
    baton: Baton,
    val epochMillis: Long,
    val name: String,
    shardCount: Int,
    settings: Settings,
    private[simulation] val faults: Faults
) {
  private val shards                 = mutable.ArrayBuffer.empty[Shard]
  private val named                  = mutable.HashMap.empty[String, Shard]
  private val consumers              = mutable.LinkedHashMap.empty[String, Consumer]
  private val seats                  = mutable.LinkedHashMap.empty[(String, String), Seat]
  private val listings               = mutable.ArrayBuffer.empty[(Long, Vector[Listed])]
  private val shardPages             = new Pages[Listed]
  private val consumerPages          = new Pages[Consumer]
  private val calls                  = mutable.HashMap.empty[String, Rate]
  private var isReshardUnderWay      = false
  private var registrations          = 0
  private var laggingMillis          = 0L
  private[simulation] var putRecords = 0L

  val arn: String = s"arn:aws:kinesis:us-east-1:123456789012:stream/$name"

  val createdMillis: Long = epochMillis - (if (settings.oldRecords > 0) RetentionMillis + 3600000 else 60000)

  def now: Long = epochMillis + baton.now / 1000000

  /** All shards there have been. */
  def all: Vector[Shard]       = shards.toVector
  def shard(id: String): Shard = named.getOrElse(id, throw Refusal.NotFound(s"Shard $id does not exist"))

  private def listed(id: String): Shard = {
    val found = shard(id)
    if (isListed(found)) found else throw Refusal.NotFound(s"Shard $id does not exist")
  }

  def open: Vector[Shard] = shards.iterator.filter(_.isOpen).toVector

  (0 until shardCount).foreach { i =>
    val width = (HashKey.Last + 1) / shardCount
    add(Nil, HashKeyRange(width * i, if (i == shardCount - 1) HashKey.Last else width * (i + 1) - 1), createdMillis)
  }
  addOld()
  list()

  /** Records that go past retention one after the other, half of them in shards that are closed. */
  private def addOld(): Unit = if (settings.oldRecords > 0) {
    val first                                              = epochMillis - RetentionMillis
    def fill(some: Seq[Shard], from: Long, to: Long): Unit = some.foreach { shard =>
      Seq.fill(settings.oldRecords)(baton.between(from, to)).sorted.foreach { at =>
        shard.append(s"r$putRecords", at, 20)
        putRecords += 1
      }
    }
    val half = first + settings.oldMillis / 2
    fill(open, first + 5000, half)
    split(open.head, half)
    fill(open, half, first + settings.oldMillis)
    trim()
  }

  /** What is past retention goes. */
  private def trim(): Unit = {
    shards.foreach(_.trim(now - RetentionMillis))
    baton.after(1000000000L)(trim())
  }

  private[simulation] def has(id: String): Boolean = isListed(shard(id))

  private def isListed(shard: Shard) = !shard.isGone(now - RetentionMillis)

  /** Whether it was there at an earlier time. */
  private def wasListed(shard: Shard, asOf: Long) = isListed(shard) || !shard.wasGone(asOf - RetentionMillis)

  private def add(parents: List[String], keys: HashKeyRange, at: Long): Shard = {
    val made = new Shard(shards.size, parents, keys, at)
    shards += made
    named(made.id) = made
    made
  }

  private def list(): Unit = {
    listings += now -> shards.iterator.map(s => Listed(s, s.isOpen)).toVector
    if (listings.size > 20) listings.remove(1)
  }

  /** Listings show the stream as it was so long ago. They are never newer than the settings say. */
  def lag(millis: Long): Unit = laggingMillis = millis

  private def listingMillis = laggingMillis.max(settings.listingMillis)

  /** Whether each listing has it. */
  private[simulation] def isShown(shard: Shard): Boolean = shard.openedAt <= now - listingMillis - 1

  def status: String = if (isReshardUnderWay) "UPDATING" else "ACTIVE"

  /** @throws Refusal.LimitExceeded where others leave no call of that name in this second */
  def takeCall(name: String): Unit =
    if (!calls.getOrElseUpdate(name, new Rate(settings.callsPerSecond)).take(now))
      throw Refusal.LimitExceeded(s"Rate exceeded for $name")

  def put(key: BigInt, data: String): Shard = {
    val shard = open.find(s => s.keys.start <= key && key <= s.keys.end).get
    shard.append(
      data,
      now - (if (settings.arrivalsBackMillis > 0) baton.between(0, settings.arrivalsBackMillis) else 0),
      settings.recordBytes
    )
    putRecords += 1
    wake(shard)
    shard
  }

  /** One record in each open shard. */
  def putInEach(): Unit = open.foreach(shard => put(shard.keys.start, s"r$putRecords"))

  def split(shard: Shard): Unit = reshard(split(shard, now))

  /** The stream is UPDATING before its shards change. A reshard meanwhile is refused. */
  private def reshard(change: => Unit): Unit =
    if (settings.updateMillis == 0) change
    else if (!isReshardUnderWay) {
      isReshardUnderWay = true
      baton.after(settings.updateMillis * 1000000) {
        isReshardUnderWay = false
        change
      }
    }

  private def split(shard: Shard, at: Long): Unit = if (shard.isOpen && shard.keys.start < shard.keys.end) {
    val middle = (shard.keys.start + shard.keys.end) / 2
    shard.closedAt = Some(at)
    add(List(shard.id), HashKeyRange(shard.keys.start, middle), at)
    add(List(shard.id), HashKeyRange(middle + 1, shard.keys.end), at)
    list()
    wake(shard)
  }

  /** Two that adjoin, if there are any.
    *
    * @param which decides which ones
    */
  def merge(which: Int): Unit = reshard {
    val pairs = for (one <- open; other <- open.find(_.keys.start == one.keys.end + 1)) yield (one, other)
    pairs.lift(which % pairs.size.max(1)).foreach { case (one, other) =>
      Seq(one, other).foreach(close)
      add(List(one.id, other.id), HashKeyRange(one.keys.start, other.keys.end), now)
      list()
      Seq(one, other).foreach(wake)
    }
  }

  private def close(shard: Shard): Unit = shard.closedAt = Some(now)

  private def children(shard: Shard) = shards.iterator.filter(_.parents.contains(shard.id)).toVector

  def listShards(openAt: Option[Long]): Page[Listed] = {
    openAt.filter(_ > now).foreach(t => throw Refusal.InvalidArgument(s"$t is in the future"))
    // Of two listings, the later may be the older.
    val asOf  = now - baton.between(0, listingMillis + 1)
    val shown = listings.reverseIterator
      .find(_._1 <= asOf)
      .getOrElse(listings.head)
      ._2
      .filter(l => wasListed(l.shard, asOf))
    shardPages.first(openAt.fold(shown) { t =>
      val at = t.max(createdMillis).max(now - RetentionMillis)
      shown.filter(l => l.shard.openedAt <= at && l.shard.closedAt.forall(_ >= at))
    })
  }

  /** All pages show the shards of one time. */
  def moreShards(token: String): Page[Listed] = shardPages.next(token)

  def iterator(id: String, from: Start): Iterator = {
    val at = listed(id)
    if (!at.iterators.take(now)) throw Refusal.Throttled(s"Rate exceeded for shard $id")
    Iterator(name, id, at.place(from, now), now, isAtLatest = from == Start.Latest)
  }

  /** @return the records, where to read on (none at the shard's end), and how far behind that is in ms */
  def getRecords(iterator: Iterator, limit: Int): Answer = {
    if (now - iterator.issued > settings.iteratorMillis) throw Refusal.ExpiredIterator
    val at = listed(iterator.shard)
    if (!at.reads.take(now)) throw Refusal.Throttled(s"Rate exceeded for shard ${at.id}")
    // The service may give fewer than there are, or none for a while.
    val most = if (baton.chance(settings.shortAnswers)) baton.between(0, limit).toInt else limit
    if (isScan(at, iterator.index, iterator.isAtLatest)) scanned(at, iterator.index)
    else if (baton.chance(settings.staleAnswers)) stale(at, iterator.index, most)
    else answer(at, iterator.index, most.min(settings.mostRecords))
  }

  /** By a replica that doesn't have the latest second yet, and takes the record before it for the last. */
  private def stale(at: Shard, from: Int, most: Int) = {
    val known  = at.records.lastIndexWhere(_.arrived < now - 1000) + 1
    val some   = at.records.slice(from.max(at.trimmed), known.min(from + fitting(most))).toVector
    val index  = from.max(at.trimmed) + some.size
    val behind = if (index >= known) 0L else (now - at.records(index).arrived).max(1L)
    Answer(some, Some(next(at, index, behind)), behind, Vector.empty)
  }

  private def next(at: Shard, index: Int, behind: Long) = Iterator(name, at.id, index, now, isAtLatest = behind == 0)

  /** A reader that has come to the latest is not behind again before something has come. */
  private def isScan(at: Shard, from: Int, isAtLatest: Boolean) =
    settings.emptyAnswers > 0 && baton.chance(settings.emptyAnswers) &&
      !(isAtLatest && at.isOpen && from >= at.records.size)

  /** The call has found no record in the part of the shard that it looked through, and has not come to the latest: also where there is none. */
  private def scanned(at: Shard, from: Int) = {
    val index  = from.max(at.trimmed)
    val behind =
      if (index < at.records.size) (now - at.records(index).arrived).max(1L) else baton.between(1, 60000)
    Answer(Vector.empty, Some(next(at, index, behind)), behind, Vector.empty)
  }

  private def fitting(most: Int) =
    if (settings.recordBytes < 1000) most else most.min(LargestAnswer / settings.recordBytes)

  private def answer(at: Shard, from: Int, most: Int) = {
    val begin  = from.max(at.trimmed)
    val some   = at.records.slice(begin, begin + fitting(most)).toVector
    val index  = begin + some.size
    val isEnd  = !at.isOpen && index >= at.records.size
    val behind = if (index >= at.records.size) 0L else (now - at.records(index).arrived).max(1L)
    Answer(
      some,
      if (isEnd) None else Some(next(at, index, behind)),
      behind,
      if (isEnd) children(at) else Vector.empty
    )
  }

  def register(name: String, tags: Map[String, String]): Consumer = {
    if (consumers.get(name).exists(_.isKnown(now))) throw Refusal.InUse(s"Consumer $name exists")
    registrations += 1
    val arn  = s"${this.arn}/consumer/$name:${epochMillis / 1000 + registrations}"
    val made = new Consumer(name, arn, now, now + baton.between(0, settings.consumerMillis))
    made.tags ++= tags
    consumers(name) = made
    made
  }

  /** By a call, which the stream's other consumers and a reshard can stand in the way of. */
  def registerByCall(name: String, tags: Map[String, String]): Consumer = {
    if (isReshardUnderWay) throw Refusal.InUse(s"Stream ${this.name} is UPDATING")
    val there = listedConsumers
    if (there.size >= MostConsumers) throw Refusal.LimitExceeded(s"Stream ${this.name} has ${there.size} consumers")
    if (there.count(_.status(now) == "CREATING") >= MostCreating)
      throw Refusal.LimitExceeded(s"$MostCreating consumers of stream ${this.name} are CREATING")
    val made = register(name, tags)
    made.describedFrom = now + settings.unknownMillis
    made
  }

  /** As DescribeStreamConsumer knows it: not at once after it was registered. */
  def described(consumer: Consumer): Consumer =
    if (now < consumer.describedFrom) throw Refusal.NotFound(s"Consumer ${consumer.arn} not found")
    else consumer

  /** One that is deleted is listed for a moment more. */
  private def listedConsumers: Vector[Consumer] =
    consumers.values.filter(_.isKnown(now - settings.unknownMillis)).toVector ++ others

  def listConsumers(): Page[Consumer]              = consumerPages.first(listedConsumers)
  def moreConsumers(token: String): Page[Consumer] = consumerPages.next(token)

  /** Consumers of other applications, which read nothing here. In 8 of 30 seconds five of them are CREATING. */
  private def others: Vector[Consumer] = Vector.tabulate(settings.otherConsumers) { i =>
    val isCreating = i < MostCreating && (now - epochMillis) % 30000 < 8000
    val active     = if (isCreating) Long.MaxValue else createdMillis
    new Consumer(s"other-$i", s"$arn/consumer/other-$i:${createdMillis / 1000}", createdMillis, active)
  }

  def deregister(arn: String): Unit = {
    val gone = consumer(arn)
    if (gone.deletedAt.isEmpty) gone.deletedAt = Some(now + baton.between(0, settings.consumerMillis))
    seats.foreach { case ((of, _), seat) =>
      if (of == arn) seat.holder.foreach(_.end(Some(Refusal.NotFound("Consumer not found"))))
    }
  }

  /** By somebody else, all but those. */
  def deregisterAllBut(kept: Set[String]): Unit =
    allConsumers.filter(c => c.deletedAt.isEmpty && !kept(c.name)).foreach(c => deregister(c.arn))

  def consumer(arn: String): Consumer = consumers.values
    .find(c => c.arn == arn && c.isKnown(now))
    .getOrElse(throw Refusal.NotFound(s"Consumer $arn not found"))

  def consumerNamed(name: String): Consumer =
    consumers.get(name).filter(_.isKnown(now)).getOrElse(throw Refusal.NotFound(s"Consumer $name not found"))

  def allConsumers: Vector[Consumer] = consumers.values.filter(_.isKnown(now)).toVector

  /** The processes that hold subscriptions, by consumer and shard. */
  private[simulation] def holders: Vector[(String, String, String)] =
    seats.iterator.flatMap { case ((arn, id), seat) => seat.holder.map(held => (arn, id, held.by)) }.toVector

  def subscribe(by: String, arn: String, id: String, from: Start, to: Subscriber): Subscription = {
    if (consumer(arn).status(now) != "ACTIVE") throw Refusal.InUse(s"Consumer $arn is not ACTIVE")
    val at   = listed(id)
    val seat = seats.getOrElseUpdate((arn, id), new Seat)
    if (!seat.calls.take(now)) throw Refusal.LimitExceeded(s"Rate exceeded for consumer $arn and shard $id")
    if (seat.takenAt.exists(now < _ + 5000)) throw Refusal.InUse(s"Another active subscription exists for $arn and $id")
    val made = new Subscription(by, at, at.place(from, now), to, seat)
    seat.takenAt = Some(now)
    seat.holder.foreach(_.end(Some(Refusal.InUse(s"Another subscription of $arn to $id has taken over"))))
    seat.holder = Some(made)
    baton.after(settings.subscriptionMillis * 1000000)(made.end(None))
    made
  }

  /** All subscriptions end, as they do when a front end of the service is replaced. */
  def endSubscriptions(abruptly: Boolean): Unit =
    seats.values.flatMap(_.holder).toVector.foreach(_.end(if (abruptly) Some(Refusal.Broken) else None))

  /** Somebody else subscribes by the same consumers. */
  def takeOver(): Unit = seats.values.foreach { seat =>
    seat.holder.foreach(_.end(Some(Refusal.InUse("Another subscription has taken over"))))
    seat.holder = None
    seat.takenAt = Some(now)
  }

  private def wake(shard: Shard): Unit =
    seats.values.foreach(_.holder.filter(_.shard eq shard).foreach(_.look(baton.between(5, 70) * 1000000)))

  /** One subscription, on the service's side. */
  final class Subscription(val by: String, val shard: Shard, private var index: Int, to: Subscriber, seat: Seat) {
    private var wanted = 0L
    private var isOver = false
    private var looks  = 0L
    private var said   = now

    private var isAtLatest = false

    look(0)

    def request(events: Long): Unit = {
      wanted += events
      look(0)
    }

    def cancel(): Unit = {
      isOver = true
      leave()
    }

    def end(failure: Option[Refusal]): Unit = if (!isOver) {
      isOver = true
      leave()
      to.ended(failure)
    }

    private def leave(): Unit = if (seat.holder.exists(_ eq this)) seat.holder = None

    /** The latest look counts. */
    def look(nanos: Long): Unit = if (!isOver) {
      looks += 1
      val own = looks
      baton.after(nanos)(if (looks == own || nanos == 0) speak())
    }

    private def speak(): Unit = if (!isOver && wanted > 0) {
      val next  = answer(shard, index, settings.mostRecords.min(1 + baton.random.nextInt(200)))
      val isDue = next.records.nonEmpty || next.next.isEmpty || now - said >= HeartbeatMillis
      if (isDue && isScan(shard, index, isAtLatest)) {
        wanted -= 1
        said = now
        to.event(scanned(shard, index), Some(shard.beyond(index.max(shard.trimmed))))
        val isMore = next.records.nonEmpty || next.next.isEmpty
        look((if (isMore) baton.between(1, 20) else HeartbeatMillis) * 1000000)
      } else if (isDue) {
        wanted -= 1
        said = now
        index = index.max(shard.trimmed) + next.records.size
        isAtLatest = next.behind == 0
        val continuation = next.next.map(_ => next.records.lastOption.fold(shard.beyond(index))(_.number))
        to.event(next, continuation)
        if (next.next.isEmpty) end(None) else look(baton.between(1, 20) * 1000000)
      } else look((said + HeartbeatMillis - now) * 1000000)
    }
  }

  /** Listings of which a part was given, and the rest is asked for by a token. */
  private final class Pages[A] {
    private val rests = mutable.HashMap.empty[String, (Long, Vector[A])]

    def first(all: Vector[A]): Page[A] = {
      val (given, rest) = all.splitAt(settings.pageSize)
      Page(
        given,
        Option.when(rest.nonEmpty) {
          val token = s"$name/${rests.size}"
          rests(token) = (now, rest)
          token
        }
      )
    }

    def next(token: String): Page[A] = rests.get(token) match {
      case None => throw Refusal.InvalidArgument(s"Invalid NextToken $token")
      case Some((issued, _)) if now - issued > settings.tokenMillis => throw Refusal.ExpiredToken
      case Some((_, rest))                                          => first(rest)
    }
  }
}

object Kinesis {
  val HeartbeatMillis = 5000L
  val RetentionHours  = 24

  private val RetentionMillis = RetentionHours * 3600000L
  private val LargestAnswer   = 10 << 20
  private val MostConsumers   = 20
  private val MostCreating    = 5

  /** The name in an ARN of a stream or of its consumer. */
  def nameIn(arn: String): String = arn.split('/')(1)

  /** The stream that a token to list on is for. */
  def nameOf(token: String): String = token.split('/')(0)

  /** How the service behaves in one world.
    *
    * @param mostRecords    of one answer
    * @param shortAnswers   the share of answers to GetRecords that have fewer records than they could
    * @param staleAnswers   the share of those that lack the latest records, and say that there are none
    * @param emptyAnswers   the share of answers and of due events that have no records, and say that there are later ones, until the latest is reached
    * @param arrivalsBackMillis by how much a record may have arrived before the one ahead of it
    * @param updateMillis   for so long a stream is UPDATING before its shards change
    * @param listingMillis  how old a listing may be that no fault delays
    * @param pageSize       shards or consumers of one page
    * @param tokenMillis    how long a token to list on lives
    * @param unknownMillis  from when on a new consumer can be described, and for how long a deleted one is listed
    * @param otherConsumers of other applications
    * @param callsPerSecond that others leave of each quota of ListShards, DescribeStreamSummary and calls about consumers
    * @param recordBytes    of a record's data
    * @param oldRecords     of each shard, which go past retention while the world lasts
    * @param oldMillis      by when all of them have
    */
  final case class Settings(
      mostRecords: Int = 1000,
      shortAnswers: Double = 0.1,
      staleAnswers: Double = 0,
      emptyAnswers: Double = 0,
      arrivalsBackMillis: Long = 50,
      updateMillis: Long = 0,
      listingMillis: Long = 0,
      pageSize: Int = Int.MaxValue,
      tokenMillis: Long = 300000,
      unknownMillis: Long = 0,
      otherConsumers: Int = 0,
      callsPerSecond: Int = 1000,
      iteratorMillis: Long = 300000,
      subscriptionMillis: Long = 300000,
      consumerMillis: Long = 3000,
      recordBytes: Int = 20,
      oldRecords: Int = 0,
      oldMillis: Long = 120000
  )

  /** @param text begins its data */
  final case class Record(number: BigInt, text: String, arrived: Long, bytes: Int) {
    def data: Array[Byte] = java.util.Arrays.copyOf(text.getBytes, bytes)
  }

  private def firstNumber(shard: Int) = BigInt("49" + "0" * 54) + (BigInt(shard + 1) << 120)

  /** The sequence number of a record, by its shard's number and its place in it. */
  def numberOf(shard: Int, place: Int): BigInt = firstNumber(shard) + (BigInt(place + 1) << 40)

  def shardId(index: Int): String = f"shardId-$index%012d"

  /** As a listing shows it. */
  final case class Listed(shard: Shard, isOpen: Boolean)

  /** @param token for the next page, if there is one */
  final case class Page[A](items: Vector[A], token: Option[String])

  sealed trait Start
  object Start {
    case object TrimHorizon                                   extends Start
    case object Latest                                        extends Start
    final case class AtTime(millis: Long)                     extends Start
    final case class Number(number: BigInt, isAfter: Boolean) extends Start
  }

  /** @param index      of the next record in its shard
    * @param isAtLatest nothing came after it when it was issued
    */
  final case class Iterator(stream: String, shard: String, index: Int, issued: Long, isAtLatest: Boolean) {
    def text: String = s"$stream/$shard/$index/$issued/$isAtLatest"
  }
  object Iterator {
    def of(text: String): Iterator = text.split('/') match {
      case Array(stream, shard, index, issued, isAtLatest) =>
        Iterator(stream, shard, index.toInt, issued.toLong, isAtLatest.toBoolean)
      case _ => throw Refusal.InvalidArgument(s"Invalid ShardIterator $text")
    }
  }

  final case class Answer(records: Vector[Record], next: Option[Iterator], behind: Long, children: Vector[Shard])

  /** @param openedAt in ms */
  final class Shard(index: Int, val parents: List[String], val keys: HashKeyRange, val openedAt: Long) {
    val id: String                   = shardId(index)
    val records                      = mutable.ArrayBuffer.empty[Record]
    private[Kinesis] val reads       = new Rate(5)
    private[Kinesis] val iterators   = new Rate(5)
    private[simulation] var closedAt = Option.empty[Long]
    private var gone                 = 0
    private val first                = firstNumber(index)
    private var continuations        = 0L

    def isOpen: Boolean = closedAt.isEmpty

    /** Records that are past retention. */
    def trimmed: Int = gone

    private[Kinesis] def trim(until: Long): Unit =
      while (gone < records.size && records(gone).arrived < until) gone += 1

    private[Kinesis] def isGone(until: Long) = closedAt.exists(_ < until) && gone == records.size

    /** Of a shard that is gone now. */
    private[Kinesis] def wasGone(until: Long) = closedAt.exists(_ < until) && records.forall(_.arrived < until)

    private[Kinesis] def append(text: String, arrived: Long, bytes: Int): Unit =
      records += Record(numberOf(index, records.size), text, arrived.max(openedAt), bytes)

    /** A number behind the records so far and before those to come. */
    private[Kinesis] def beyond(place: Int): BigInt = {
      continuations += 1
      first + (BigInt(place) << 40) + continuations
    }

    /** The first record from a place on. */
    private[Kinesis] def place(from: Start, now: Long): Int = gone.max(from match {
      case Start.TrimHorizon              => 0
      case Start.Latest                   => records.size
      case Start.AtTime(t) if t > now     => throw Refusal.InvalidArgument(s"$t is in the future")
      case Start.AtTime(t)                => firstOr(records.indexWhere(_.arrived >= t))
      case Start.Number(n, _) if !owns(n) => throw Refusal.InvalidArgument(s"$n is not a number of $id")
      case Start.Number(n, isAfter)       => indexAbove(if (isAfter) n else n - 1)
    })

    /** Of the first record with a higher number. */
    private[simulation] def indexAbove(number: BigInt): Int = {
      var low  = 0
      var high = records.size
      while (low < high) {
        val middle = (low + high) / 2
        if (records(middle).number <= number) low = middle + 1 else high = middle
      }
      low
    }

    private def owns(number: BigInt) = number >= first && number < first + (BigInt(1) << 120)

    private def firstOr(index: Int) = if (index < 0) records.size else index
  }

  /** So many calls a second. */
  private[simulation] final class Rate(calls: Int) {
    private var taken = Vector.empty[Long]

    def take(now: Long): Boolean = {
      taken = taken.filter(_ > now - 1000)
      val isFree = taken.size < calls
      if (isFree) taken :+= now
      isFree
    }
  }

  final class Consumer(val name: String, val arn: String, val createdAt: Long, activeAt: Long) {
    val tags                           = mutable.LinkedHashMap.empty[String, String]
    private[simulation] var deletedAt  = Option.empty[Long]
    private[Kinesis] var describedFrom = createdAt
    def isKnown(now: Long): Boolean    = deletedAt.forall(_ > now)
    def status(now: Long): String      =
      if (deletedAt.isDefined) "DELETING" else if (activeAt > now) "CREATING" else "ACTIVE"
  }

  /** A consumer's place at a shard. */
  final class Seat {
    private[Kinesis] val calls   = new Rate(1)
    private[Kinesis] var takenAt = Option.empty[Long]
    private[Kinesis] var holder  = Option.empty[Kinesis#Subscription]
  }

  /** What a subscription brings. */
  trait Subscriber {
    def event(answer: Answer, continuation: Option[BigInt]): Unit
    def ended(failure: Option[Refusal]): Unit
  }

  /** What the service answers instead. */
  sealed abstract class Refusal(message: String) extends RuntimeException(message, null, false, false) with Product {
    def kind: String = productPrefix
  }
  object Refusal {
    final case class Throttled(message: String)       extends Refusal(message)
    final case class LimitExceeded(message: String)   extends Refusal(message)
    final case class NotFound(message: String)        extends Refusal(message)
    final case class InvalidArgument(message: String) extends Refusal(message)
    final case class InUse(message: String)           extends Refusal(message)
    case object ExpiredIterator                       extends Refusal("Iterator expired")
    case object ExpiredToken                          extends Refusal("NextToken expired")
    case object Failure                               extends Refusal("Internal failure")
    case object Broken                                extends Refusal("Connection reset")
  }

  /** Shares of calls, for a time, that go wrong. They strike all streams. */
  final class Faults {
    var throttled         = 0.0
    var failed            = 0.0
    var lost              = 0.0
    var slow              = 0.0
    var failedCredentials = 0.0
    var slowCredentials   = 0.0

    def areNone: Boolean =
      throttled == 0 && failed == 0 && lost == 0 && slow == 0 && failedCredentials == 0 && slowCredentials == 0

    def mend(): Unit = {
      throttled = 0
      failed = 0
      lost = 0
      slow = 0
      failedCredentials = 0
      slowCredentials = 0
    }
  }
}
