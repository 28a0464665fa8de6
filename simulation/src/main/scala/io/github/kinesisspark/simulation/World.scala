package io.github.kinesisspark.simulation

import scala.collection.mutable
import scala.concurrent.duration._
import scala.util.control.NonFatal

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{ShardKey, StreamArn}
import io.github.kinesisspark.read.reader.ReadersInside

/** One simulated world: the service, producers, applications with their queries, and the faults that strike them. It checks what must hold after each
  * event, and that all is read in the end and nothing is left over.
  */
final class World(val plan: Plan, trace: Trace) {
  import World._

  val settings: WorldSettings = plan.settings
  val baton                   = new Baton(plan.seed, trace)
  val conversation            = new Conversation(fail)
  val network                 = new Network(baton, conversation)
  val serviceFaults           = new Kinesis.Faults
  val faults                  = new TaskFaults
  val coverage                = new Coverage

  private val streams = settings.streams.map { case (name, shards) =>
    name -> new Kinesis(baton, Epoch, name, shards, settings.kinesis, serviceFaults)
  }.toMap

  val target = new Target(
    new Kinesis(baton, Epoch, Target.StreamName, 2, Kinesis.Settings(), serviceFaults),
    settings.sinkRate
  )

  private val ledgers      = settings.queries.map(new Ledger(this, _, fail))
  private val clientsOf    = mutable.HashMap.empty[Process, KinesisClients]
  private val insides      = mutable.HashMap.empty[Process, ReadersInside]
  private val struck       = mutable.TreeMap.empty[String, Int]
  private val lasting      = mutable.HashMap.empty[Strike.Kind, Long]
  private val doubly       = new World.Lasting[(String, String)](World.MostSecondsTwice)
  private val stray        = new World.Lasting[(String, String)](World.MostSecondsStray)
  private val undone       = new World.Lasting[(String, String, Long)](World.MostSecondsUndone)
  private var applications = Vector.empty[Application]
  private var begun        = 0
  private var attempts     = 0L
  private var rivalUntil   = 0L
  private var isProducing  = true
  private var isEnding     = false

  def serviceTime: Long = streams.head._2.now

  /** Whether the service has the shard no more. */
  def isGone(key: ShardKey): Boolean = !stream(key.stream.name).has(key.shardId)

  def stream(name: String): Kinesis =
    if (name == Target.StreamName) target.stream
    else streams.getOrElse(name, throw Kinesis.Refusal.NotFound(s"Stream $name does not exist"))

  private val arns                   = streams.map { case (name, its) => name -> StreamArn(its.arn) }
  def arnOf(name: String): StreamArn = arns(name)

  def numberOf(ledger: Ledger): Int = ledgers.indexOf(ledger)

  def process(name: String): Process = new Process(name, baton, trace, Epoch + baton.between(-2000, 2000))

  def clients(process: Process): KinesisClients = clientsOf.getOrElseUpdate(
    process,
    new KinesisClients((_, success) => {
      val client = new KinesisClient(process, this, success)
      new KinesisClients.SharedClient(client, success, () => ())
    })(process.runtime)
  )

  private[simulation] def hasReaders(process: Process, inside: ReadersInside): Unit = insides(process) = inside

  /** Runs it to its end.
    *
    * @throws SimulationFailure what did not hold
    */
  def run(): Outcome = {
    (0 until settings.backlog).foreach(_ => streams.values.foreach(_.putInEach()))
    streams.values.foreach(produce)
    registerOthers()
    plan.strikes.foreach(strike => baton.at(strike.at.toNanos)(awaitState(strike, baton.now + strike.patience.toNanos)))
    baton.afterTurn = process => check(checkChanged(process))
    begin()
    look()
    val lastFault = plan.strikes.iterator.map(_.ends.toNanos).maxOption.getOrElse(0L)
    baton.at(lastFault.max(settings.producing.toNanos)) {
      isProducing = false
      mend()
      baton.after(5.seconds.toNanos) {
        streams.values.foreach(_.putInEach())
        awaitEnd(baton.now + settings.bound.toNanos)
      }
    }
    baton.run()
    Outcome(
      ledgers.map(_.delivered).sum,
      ledgers.map(_.checkpoint.committed).sum,
      struck.toMap,
      baton.now.nanos.toMillis.millis,
      baton.passes,
      trace.hash,
      coverage
    )
  }

  /** Records come, and faults strike. */
  private[simulation] def isBusy: Boolean = isProducing

  /** All is read, and nothing strikes any more. */
  private[simulation] def isAtEnd: Boolean = isEnding

  private def alive = applications.filter(_.isAlive)

  private def begin(): Unit = {
    begun += 1
    val made = new Application(this, begun, ledgers.filterNot(_.hasEnded))
    applications = alive :+ made
    made.driver.log("starts")
    made.start(settings.executors)
  }

  /** Where a driver has been killed, or has ended without need, another begins. */
  private def beginIfNone(): Unit = {
    val wanted = ledgers.filterNot(_.hasEnded)
    val runs   = alive.flatMap(_.queries.filterNot(_.hasEnded).map(_.of))
    if (!wanted.forall(runs.contains)) begin()
  }

  /** Executors come and go with what there is to do. */
  private[simulation] val isElastic: Boolean =
    plan.strikes.exists(strike => strike.kind == Strike.Kind.JoinExecutor || strike.kind == Strike.Kind.IdleExecutor)

  private def hasRivals: Boolean =
    struck.contains(Strike.Kind.SecondDriver.toString) || struck.contains(Strike.Kind.TakeOver.toString) || begun > 1

  /** Whether another subscriber has a query's consumers, or had them until a minute ago. */
  private[simulation] def hasRivalOf(ledger: Ledger): Boolean =
    baton.now < rivalUntil || alive.flatMap(_.queries).count(query => query.of == ledger && !query.hasEnded) > 1

  /** A subscriber is gone, or goes now. */
  private[simulation] def losesRival(): Unit = rivalUntil = baton.now + 1.minute.toNanos

  private[simulation] def options(source: SourceSettings, run: RunSettings): SourceOptions = SourceOptions.parse(
    Map(
      "streamName"             -> source.streams.mkString(","),
      "region"                 -> "us-east-1",
      "shardDiscoveryInterval" -> "5s"
    ) ++ source.options ++ run.options ++ source.consumer.toSeq.flatMap(name =>
      source.streams.map(stream => s"efo.consumerArn.$stream" -> this.stream(stream).consumerNamed(name).arn)
    )
  )

  /** Consumers that queries are given, and must leave. */
  private def registerOthers(): Unit =
    for (query <- settings.queries; source <- query.sources; name <- source.consumer; stream <- source.streams)
      this.stream(stream).register(name, Map.empty)

  private def produce(stream: Kinesis): Unit = baton.after(baton.between(0, settings.pauseOfProducer.toNanos * 2)) {
    if (isProducing && settings.quiet.forall(_.isOver(baton.now))) {
      (0L to baton.between(0, settings.burst.toLong)).foreach { _ =>
        stream.put(BigInt(127, new java.util.Random(baton.random.nextLong())) * 2, s"r${stream.putRecords}")
      }
    }
    if (isProducing) produce(stream)
  }

  /** Every second, whether all is read. */
  private def awaitEnd(until: Long): Unit = baton.after(1.second.toNanos) {
    beginIfNone()
    val queries = alive.flatMap(_.queries)
    if (ledgers.forall(_.isComplete) && queries.forall(query => query.phase != Phase.Starting && !query.isWaitedFor))
      if (isLasting && baton.chance(0.3)) beCalm() else end()
    else if (baton.now > until)
      fail(
        s"not all is read ${settings.bound} after the last fault: ${ledgers.filterNot(_.isComplete).map(_.missing).mkString("; ")}" +
          s"${queries.filter(_.isWaitedFor).map(query => s"; processAllAvailable() of ${query.name} does not return").mkString}\n$readersNow"
      )
    else awaitEnd(until)
  }

  /** Whether readers stay as they are once all is read. An executor that its driver doesn't reach yet gets some later. A query that has failed for lost
    * records fails again.
    */
  private def isLasting =
    alive.size == 1 && !hasRivals && !conversation.hasSlow && !ledgers.exists(_.hasEnded) &&
      alive.flatMap(_.living).forall(executor => conversation.reaches(executor.process.name)) &&
      ledgers.forall(_.run.trigger.isInstanceOf[Trigger.Continuous])

  /** Nothing strikes and nothing comes for longer than leases last, once shards have had time to level out: then no reader is closed, and none begins. */
  private def beCalm(): Unit = baton.after(90.seconds.toNanos)(watch(moves = 1))

  /** @param moves how often readers may still move: to an executor that has failed twice after two minutes, and later after more failures */
  private def watch(moves: Int): Unit = {
    val before = readers
    val were   = readersNow
    baton.after(100.seconds.toNanos) {
      val now = readers
      if (now == before) end()
      else if (moves > 0) watch(moves - 1)
      else
        fail(
          s"without a cause ${(before -- now).size} readers are closed, and ${(now -- before).size} begin\n$were\n$readersNow"
        )
    }
  }

  private def readersNow = (for (application <- alive; executor <- application.living) yield {
    val inside = executor.inside
    s"${executor.process.name} holds ${inside.memory} of ${inside.capacity} bytes: ${inside.all.mkString("; ")}"
  }).mkString("\n")

  private def readers =
    alive.flatMap(_.living).flatMap(_.inside.all).map(_.reader).toSet

  /** All is read. Nothing may have grown; and after the queries are stopped nothing may be left. */
  private def end(): Unit = {
    trace.event(baton.now, "world", "all is read; the queries stop")
    isEnding = true
    check(checkGrowth())
    alive.foreach(_.queries.foreach(_.stop()))
    awaitStopped(baton.now + 90.seconds.toNanos)
  }

  private def awaitStopped(until: Long): Unit = baton.after(500.millis.toNanos) {
    val running = alive.flatMap(_.queries.filterNot(_.hasEnded))
    if (running.nonEmpty && baton.now > until)
      fail(s"${running.map(_.name).mkString(", ")} does not stop, and is ${running.head.phase}")
    else if (running.nonEmpty) awaitStopped(until)
    else {
      val stopped = serviceTime
      baton.after(15.seconds.toNanos)(checkStopped(stopped))
    }
  }

  /** The readers of executors that could not be reached are closed by the end of their lease. */
  private def checkStopped(stopped: Long): Unit = {
    checkConsumers(stopped)
    val executors = alive.flatMap(_.living)
    baton.after(100.seconds.toNanos) {
      for {
        stream           <- streams.values
        (arn, shard, by) <- stream.holders if executors.exists(_.process.name == by)
      } fail(s"$by is still subscribed to $shard by $arn")
      for (executor <- executors) {
        if (!executor.inside.isEmpty) fail(s"${executor.process.name} still has a pool of readers")
        if (executor.inside.memory != 0)
          fail(s"${executor.process.name} has taken ${executor.inside.memory} bytes for nobody")
      }
      // Clients without a lease are closed a minute later.
      baton.after(70.seconds.toNanos) {
        check(checkNothingLeft())
        baton.stop()
      }
    }
  }

  // Of each process, once some batches were committed and it has had the time to read.
  private val early = mutable.HashMap.empty[Process, Map[String, Int]]
  private val began = mutable.HashMap.empty[Process, Long]

  private def isYoung(process: Process) = baton.now - began.getOrElseUpdate(process, baton.now) < 20.seconds.toNanos

  private def sizesNow: Vector[(Process, Map[String, Int])] = alive.flatMap { application =>
    val all = (application.driver -> application.census) +: application.living.map(e => e.process -> e.census)
    all.map { case (process, census) => process -> (census ++ process.sizes) }
  }

  /** What a process keeps is about what it kept after the first batches; more readers and executors take more. */
  private def checkGrowth(): Unit = {
    val readers = settings.queries.flatMap(_.sources).flatMap(_.streams).map(stream(_).all.size).sum
    val room    = readers * 2 + alive.map(_.madeExecutors).maxOption.getOrElse(0) + 4
    // A run of a query that ends by itself leaves pools for a minute or two.
    if (settings.queries.forall(!_.isRestarted))
      for ((process, now) <- sizesNow; before <- early.get(process); (what, size) <- now if !Remembered(what)) {
        val most = before.getOrElse(what, 0) * 2 + room
        if (size > most)
          fail(
            s"${process.name} keeps $size of $what, and had ${before.getOrElse(what, 0)} after the first batches; its threads are ${process.threadNames.mkString(", ")}"
          )
      }
    for (application <- alive; (what, size) <- application.census if OfSources(what)) {
      val most = application.queries.filterNot(_.hasEnded).map(_.of.sources.size).sum
      if (size > most) fail(s"${application.driver.name} keeps $size of $what for $most sources")
    }
  }

  /** Of queries that have stopped nothing is left, but what is remembered on purpose. */
  private def checkNothingLeft(): Unit = {
    // A driver that dies after all queries have ended gets no successor.
    if (alive.isEmpty && !ledgers.forall(_.hasEnded)) fail("no driver is left in which to look for leftovers")
    for {
      (process, sizes) <- sizesNow
      (what, size)     <- sizes if size > 0 && !Kept(what)
    } fail(s"${process.name} keeps $size of $what after all queries have stopped")
  }

  /** Checks that the consumers registered by queries are gone and that those of others remain. A consumer created after all queries had stopped doesn't
    * count: its query stopped before RegisterStreamConsumer was answered.
    *
    * @param stopped when all queries had stopped, by the service's clock
    */
  private def checkConsumers(stopped: Long): Unit = streams.values.foreach { stream =>
    val there  = stream.allConsumers.filter(c => c.deletedAt.isEmpty && c.createdAt <= stopped).map(_.name).toSet
    val others = givenTo(stream)
    if (!others.subsetOf(there)) fail(s"consumers ${others -- there} of others are deregistered")
    val left = stream.allConsumers.filter { c =>
      c.deletedAt.isEmpty && !others(c.name) && ledgers.exists(l =>
        l.registers(c.name) && isToBeGone(l, c.createdAt, stopped)
      )
    }
    if (left.nonEmpty) fail(s"consumers ${left.map(_.name).mkString(", ")} stay registered")
  }

  /** A query that has left for good has deregistered its consumers, where nothing kept it from that. */
  private def isToBeGone(of: Ledger, created: Long, stopped: Long) =
    if (of.hasEnded) !hasRivals && of.leftAt.exists(created <= _) else created <= stopped

  /** Whether a driver's calls to the service succeed. */
  private[simulation] def serves(process: Process): Boolean =
    process.isRunning && serviceFaults.areNone && network.lost == 0 && reach(process.name, KinesisClient.Service)

  /** A check that can't be made is a failure. */
  private[simulation] def check(work: => Unit): Unit =
    try work
    catch { case NonFatal(e) => baton.fail(e) }

  private def givenTo(stream: Kinesis): Set[String] =
    settings.queries.flatMap(_.sources).filter(_.streams.contains(stream.name)).flatMap(_.consumer).toSet

  private[simulation] def fail(what: String): Unit = baton.fail(new SimulationFailure(what, None))

  /** Every second. */
  private def look(): Unit = baton.after(1.second.toNanos) {
    if (!isEnding) {
      alive.flatMap(_.living).foreach(executor => checkMemory(executor.process, executor.inside))
      // An executor without readers has not begun.
      val working = alive.flatMap(app => app.driver +: app.living.filterNot(_.inside.isEmpty).map(_.process))
      val settled = working.filterNot(isYoung).toSet
      if (ledgers.forall(_.checkpoint.committed >= BatchesBefore) && !settled.subsetOf(early.keySet))
        check(sizesNow.foreach { case (process, its) => if (settled(process)) early.getOrElseUpdate(process, its) })
      checkSingleReaders()
      checkStrayReaders()
      checkOrders()
      if (baton.chance(0.15)) beginIfNone()
      look()
    }
  }

  /** After a turn of one of its threads. */
  private def checkChanged(process: Process): Unit =
    if (process.isExecutor && process.isAlive && !isEnding)
      insides.get(process).filter(_.hasChanged()).foreach(checkMemory(process, _))

  /** What an executor's readers have is what the budget has counted for them: their records, and while an answer is on its way what was taken for it. All
    * together is no more than the budget, an answer for each task that can run, and one for each source where memory is too small to be kept free for it.
    * An event of a subscription is counted once it is there, as the simulation leaves out its bytes.
    */
  private def checkMemory(process: Process, inside: ReadersInside): Unit = {
    val all = inside.holdings
    all.foreach { one =>
      if (one.expected < 0)
        fail(s"${process.name} holds ${one.held} bytes of ${one.shard}, and counts ${one.counted}")
      if (!one.isAsking && one.expected > 0)
        fail(s"${process.name} counts ${one.counted} bytes for ${one.shard}, and holds ${one.held}")
      if (one.expected > ReadersInside.LargestRequest)
        fail(s"${process.name} takes ${one.expected} bytes for an answer of ${one.shard}")
    }
    val used  = inside.memory
    val known = all.iterator.map(_.counted).sum
    if (used < known) fail(s"${process.name} counts $used bytes, and its readers have taken $known")
    val most = mostMemory + inside.fanOutHolders * LargestEvent
    if (used > most) fail(s"${process.name} holds $used bytes where $most are the most: ${all.mkString(", ")}")
  }

  // What readers hold when the query with the most memory leaves is read before they get more.
  private val mostMemory = {
    val capacity = settings.queries.map(_.memory).max
    val sources  = settings.queries.map(_.sources.size).sum
    val isSmall  = capacity < (sources + 1) * ReadersInside.LargestRequest
    val answer   = ReadersInside.LargestRequest.min(capacity)
    // A source that has an eighth of it at most gets one more.
    capacity + settings.slots * answer + (if (isSmall) sources * (answer + capacity / 8) else 0)
  }

  /** An answer to GetRecords comes. Its bytes were taken from the budget before. */
  private[simulation] def came(process: Process, shard: ShardKey, bytes: Long): Unit =
    insides.get(process).filterNot(_ => isEnding).foreach { inside =>
      val all   = inside.holdings
      val taken = all.iterator.filter(_.shard == shard).map(_.expected).sum
      // Of readers that a task has for itself, or that are closed.
      val others = inside.memory - all.iterator.map(_.counted).sum
      if (taken + others < bytes)
        fail(s"$bytes bytes of $shard come to ${process.name}, which has taken ${taken + others} for them")
    }

  /** A shard that moves has two readers for a moment, but not two that their driver goes on to name. */
  private def checkSingleReaders(): Unit = {
    val named = for {
      application <- alive
      executor    <- application.living
      nanos = executor.process.runtime.clock.nanos() - 3.seconds.toNanos
      seen <- executor.inside.all if executor.process.isRunning && seen.isNamedSince(nanos)
    } yield (seen.source, seen.shard.toString) -> executor.process.name
    val twice = named.groupMap(_._1)(_._2).filter(_._2.size > 1)
    doubly.tooLong(twice.keySet).foreach { key =>
      fail(
        s"${key._2} has had two readers that their driver names for $MostSecondsTwice s: ${twice(key).mkString(", ")}"
      )
    }
  }

  /** A reader that its executor doesn't know any more is closed: it would read on, and hold memory and a subscription. */
  private def checkStrayReaders(): Unit = {
    val strays = for {
      application <- alive
      executor    <- application.living if executor.process.isRunning
      source      <- executor.inside.withStrays
    } yield executor.process.name -> source
    stray.tooLong(strays.toSet).foreach { case (executor, source) =>
      fail(s"$executor has had a reader of $source for $MostSecondsStray s that it doesn't know any more")
    }
  }

  /** An executor is sent another order where its last one was lost, while nothing else strikes what that takes: also one that has no more shards, whose readers
    * would stay until their lease ends. One that has some is sent it within a batch, too.
    */
  private def checkOrders(): Unit = {
    val queries  = alive.flatMap(_.queries)
    val planning = queries.flatMap(query => query.source.map(_ -> query.hasPlanned())).toMap
    val batched  = queries.flatMap(_.source).toSet
    val due      = for {
      application <- alive
      driver = application.driver
      if driver.isRunning && network.isCalm && serviceFaults.areNone && reach(driver.name, KinesisClient.Service)
      source   <- application.queries.flatMap(_.source)
      executor <- application.living
      name = executor.process.name
      if executor.process.isRunning && reach(driver.name, name)
      order <- conversation.unfollowed(name, source)
    } yield (name, source, order)
    def isDue(executor: String, source: String) =
      planning(source) || (batched(source) && conversation.isToRead(executor, source))
    undone.tooLong(due.toSet, key => isDue(key._1, key._2)).foreach { case (executor, _, order) =>
      fail(s"$executor was sent no other order after $order, which was due for $MostSecondsUndone s")
    }
  }

  private def reach(one: String, other: String) = !network.isCut(one, other) && !network.isCut(other, one)

  /** Something has come to a process, by a subscription or by a call, or has happened in a task.
    *
    * @param isFanOut of which readers; left out, of both kinds
    */
  private[simulation] def happened(
      process: Process,
      shards: Iterable[ShardKey],
      what: String,
      isFanOut: Option[Boolean] = None
  ): Unit = if (!isEnding) {
    val queries = applications.find(_.processes.contains(process)).toVector.flatMap(_.queries)
    val readers = for {
      key    <- shards.toVector
      inside <- insides.get(process).toVector
      reader <- inside.of(key) if isFanOut.forall(_ == reader.isFanOut)
      query  <- queries.find(_.reads(reader.source))
    } yield s"${stateOf(reader)}, ${query.phase}"
    val states =
      if (readers.nonEmpty) readers
      else queries.map(query => (if (shards.isEmpty) "" else "no reader, ") + query.phase)
    states.distinct.foreach(coverage.happened(_, what))
  }

  /** A run of a query begins with other settings than the one before. */
  private[simulation] def changed(ledger: Ledger, what: String): Unit =
    coverage.happened(if (ledger.checkpoint.hasUncommitted) "a batch is logged" else "all batches are committed", what)

  private def stateOf(reader: ReadersInside.ObservedReader) =
    Coverage.ofReader(reader.isFanOut, reader.state)

  /** All is well again, whatever strikes have done. */
  private def mend(): Unit = {
    trace.event(baton.now, "world", "no more faults; all must be read soon")
    serviceFaults.mend()
    streams.values.foreach(_.lag(0))
    applications.foreach(_.processes.foreach(_.setClock(0)))
    network.lost = 0
    network.lostAnswers = 0
    network.slow = 0
    faults.failedTasks = 0
    faults.slowRows = 0
  }

  /** Strikes when the state that it is aimed at is there, or in the end without. */
  private def awaitState(strike: Strike, until: Long): Unit =
    if (baton.now >= until || strike.aim.forall(isThere)) this.strike(strike)
    else baton.after(7.millis.toNanos)(awaitState(strike, until))

  private def isThere(state: String) = state match {
    case Strike.AheadOfListings => ledgers.exists(_.sources.exists(_.isAhead))
    case Strike.AwaitsMemory    => alive.exists(_.living.exists(_.inside.awaitsMemory))
    case _                      => states.contains(state) || phases.contains(state)
  }

  private def states = alive.flatMap(_.living).flatMap(_.inside.all).map(stateOf)
  private def phases = alive.flatMap(_.queries.map(_.phase.toString))

  /** Where no driver lives, it strikes the service and the network alone. */
  private def strike(strike: Strike): Unit = {
    import Strike.Kind._
    val application = alive.lift(strike.which % alive.size.max(1))
    def executorOf(application: Application): Option[application.Executor] = {
      val all = application.living
      Option.when(all.nonEmpty)(all(strike.executor(all.size)))
    }
    // The driver as often as all executors together.
    val some = application.map(a => executorOf(a).filterNot(_ => strike.isAtDriver).fold(a.driver)(_.process))
    // None at a driver that begins just now.
    def query   = application.flatMap(a => a.queries.lift(strike.which % a.queries.size.max(1)))
    val service = streams(settings.streams(strike.which % settings.streams.size)._1)
    def shard   = service.open(strike.which % service.open.size)
    val length  = strike.length.toNanos
    def during(begin: => Unit)(end: => Unit): Unit = {
      begin
      val until = baton.now + length
      lasting(strike.kind) = lasting.getOrElse(strike.kind, 0L).max(until)
      baton.after(length)(if (baton.now >= lasting(strike.kind)) end)
    }
    val kind = strike.kind.toString
    struck(kind) = struck.getOrElse(kind, 0) + 1
    trace.event(baton.now, "world", strike.toString)
    coverage.struck(kind, states, phases)
    strike.kind match {
      case Pause     => some.foreach(_.pause(length))
      case Suspend   => some.foreach(_.suspend(length))
      case WallClock =>
        some.foreach(_.setClock(strike.length.toMillis.min(MostWrong.toMillis) * (if (strike.which % 4 < 2) -1 else 1)))
      case KillExecutor => for (a <- application; e <- executorOf(a)) a.kill(e)
      case KillDriver   => application.foreach(_.kill())
      case JoinExecutor => application.filter(_.living.size < MostExecutors).foreach(_.add())
      case IdleExecutor => application.foreach(_.removeIdle(strike.which))
      case Exclude      => for (a <- application; e <- executorOf(a)) a.exclude(e, strike.length)
      case Decommission =>
        for (a <- application; e <- executorOf(a)) {
          a.leave(e, strike.length)
          if (strike.which % 4 < 2) a.add()
        }
      case SecondDriver => application.foreach(_ => begin())
      case RestartQuery => query.foreach(_.restartSoon())
      case StopQuery    =>
        val going = application.toVector.flatMap(_.queries).filterNot(_.hasEnded)
        if (going.size > 1) going.maxBy(_.of.query.memory).leave()
      case CutOff =>
        for (a <- application; e <- executorOf(a)) {
          network.cut(a.driver.name, e.process.name, length)
          network.cut(e.process.name, a.driver.name, length)
        }
      case CutFromDriver =>
        for (a <- application; e <- executorOf(a)) network.cut(a.driver.name, e.process.name, length)
      case CutToDriver  => for (a <- application; e <- executorOf(a)) network.cut(e.process.name, a.driver.name, length)
      case CutToService => some.foreach(p => network.cut(p.name, KinesisClient.Service, length))
      case CutFromService     => some.foreach(p => network.cut(KinesisClient.Service, p.name, length))
      case LostMessages       => during(network.lost = if (strike.which % 2 == 0) 0.2 else 0.6)(network.lost = 0)
      case LostAnswers        => during(network.lostAnswers = 0.4)(network.lostAnswers = 0)
      case SlowMessages       => during(network.slow = 0.2)(network.slow = 0)
      case Throttle           => during(serviceFaults.throttled = 0.7)(serviceFaults.throttled = 0)
      case ServiceErrors      => during(serviceFaults.failed = 0.5)(serviceFaults.failed = 0)
      case LostCalls          => during(serviceFaults.lost = 0.3)(serviceFaults.lost = 0)
      case SlowCalls          => during(serviceFaults.slow = 0.3)(serviceFaults.slow = 0)
      case FailingCredentials =>
        during(serviceFaults.failedCredentials = 0.5)(serviceFaults.failedCredentials = 0)
      case SlowCredentials  => during(serviceFaults.slowCredentials = 0.5)(serviceFaults.slowCredentials = 0)
      case StaleListing     => during(service.lag(5000L + strike.which * 500))(service.lag(0))
      case Split            => service.split(shard)
      case Merge            => service.merge(strike.which)
      case EndSubscriptions => streams.values.foreach(_.endSubscriptions(abruptly = strike.which % 2 == 0))
      case TakeOver         =>
        streams.values.foreach(_.takeOver())
        losesRival()
      case LoseConsumers => streams.values.foreach(s => s.deregisterAllBut(givenTo(s)))
      case FailTasks     => during(faults.failedTasks = 0.2)(faults.failedTasks = 0)
      case SlowTasks     => during(faults.slowRows = 0.02)(faults.slowRows = 0)
    }
  }

  /** How the next attempt of a task ends, if it doesn't come to the end of its range. */
  private[simulation] def earlyEnd(): Option[EarlyEnd] =
    Option.when(baton.chance(faults.failedTasks.max(settings.earlyEnds))) {
      val rows = baton.between(0, baton.pick(Vector(1L, 5L, 50L))).toInt
      if (baton.chance(0.5)) EarlyEnd.Failure(rows) else EarlyEnd.Kill(rows, isSeen = baton.chance(0.5))
    }

  private[simulation] def nextAttempt(): Long = {
    attempts += 1
    attempts
  }

  /** What an attempt of a task that succeeded has written: nothing is dropped, the order of each key is kept, and no more is doubled than was counted. */
  private[simulation] def written(
      attempt: Long,
      rows: Vector[Row],
      possibleDuplicates: Long,
      options: Map[String, String]
  ): Unit = {
    val stored  = rows.map(row => target.stored(Target.copyOf(row, attempt)))
    val dropped = stored.count(_.isEmpty)
    if (dropped > 0) fail(s"$dropped of ${rows.size} rows of attempt $attempt are not in the sink's stream")
    val doubled = stored.flatten.flatMap(_.again).distinct.size
    if (doubled > possibleDuplicates)
      fail(s"attempt $attempt has written $doubled records twice, and counted $possibleDuplicates")
    if (options.get("ordered").contains("true"))
      rows.zip(stored.flatten).groupBy { case (row, _) => Target.keyOf(row) }.foreach { case (key, its) =>
        val order = its.map { case (_, copy) => copy.first }
        if (order != order.sorted) fail(s"attempt $attempt: rows of $key are not in their order")
      }
  }
}

object World {

  /** When each simulation begins, in ms since 1970. */
  private[simulation] val Epoch = 1800000000000L

  /** Of the model of a subscription, in bytes with what records take of the heap. */
  private val LargestEvent = 11L << 20

  /** Before sizes are taken that later ones are compared with. */
  private val BatchesBefore = 3

  /** What a driver has one of for each source of a query that runs. */
  private val OfSources = Set("DriverEndpoint.sources", "OrdersBySource.sources")

  /** What is remembered of sources and endpoints that were, in limited numbers. */
  private val Remembered = Set(
    "KinesisClients$Successes.known",
    "ShardReaderPools.released",
    "ExecutorRuntime.known"
  )

  /** What stays when all queries have stopped: contacts with executors and their ends, the looks of each process, and pools of threads that are shared. */
  private val Kept = Remembered ++ Set(
    "DriverEndpoint.peers",
    "DriverEndpoint.placements",
    "ExecutorEndpoint.opened",
    "Placement.tried",
    "timers of kinesis-heartbeat",
    "timers of kinesis-shard-readers"
  ) ++ Vector(
    "kinesis-client-closer",
    "kinesis-heartbeat",
    "kinesis-reader-reports",
    "kinesis-reassigning",
    "kinesis-shard-readers",
    "kinesis-timers",
    "rpc",
    "rpc-answers",
    "scheduler"
  ).map(name => s"threads of $name")

  /** A real-time batch lasts longer by as much as an executor's clock is behind the driver's. */
  private val MostWrong = 1.minute

  private val MostExecutors    = 4
  private val MostSecondsTwice = 30
  private val MostSecondsStray = 5

  /** After heartbeats were missed, a few more have to be answered first. */
  private val MostSecondsUndone = 15

  /** What may be so for a while, looked at each second.
    *
    * @param most seconds
    */
  private final class Lasting[A](most: Int) {
    private var seconds = Map.empty[A, Int]

    /** Of what is so now, what has been so for longer than it may.
      *
      * @param counts whether this second does
      */
    def tooLong(now: Set[A], counts: A => Boolean = (_: A) => true): Iterable[A] = {
      seconds = now.iterator.map(key => key -> (seconds.getOrElse(key, 0) + (if (counts(key)) 1 else 0))).toMap
      seconds.collect { case (key, lasted) if lasted > most => key }
    }
  }

  /** @param records  in committed batches
    * @param struck   by the kind of fault
    * @param lasted   in virtual time
    */
  final case class Outcome(
      records: Int,
      batches: Int,
      struck: Map[String, Int],
      lasted: FiniteDuration,
      turns: Long,
      hash: String,
      coverage: Coverage
  )
}

/** Shares of what tasks do wrong. */
final class TaskFaults {
  var failedTasks = 0.0
  var slowRows    = 0.0
}
