package io.github.kinesisspark.simulation

import java.util.SplittableRandom

import scala.concurrent.duration._

/** A world and what strikes it.
  *
  * @param seed  of all that is drawn while the world runs
  * @param theme what it is about
  */
final case class Plan(seed: Long, theme: String, settings: WorldSettings, strikes: Vector[Strike])

/** @param streams   by name, with the number of their shards
  * @param slots     tasks that an executor runs at once
  * @param earlyEnds the share of a task's attempts that fail or are killed, also where nothing strikes
  * @param actions   the share of micro-batches that two actions read
  * @param hasCallers programs wait in `processAllAvailable()` now and then
  * @param sinkRate  records a second that a shard of the stream takes which queries write to
  * @param producing how long records come, at least
  * @param backlog   records of each shard that are there when the queries begin
  * @param quiet     while no records come, if there is such a time
  * @param burst     records that come at once, at most
  * @param bound     how long after the last fault all must be read
  */
final case class WorldSettings(
    streams: Vector[(String, Int)],
    queries: Vector[QuerySettings],
    executors: Int,
    slots: Int,
    credentials: Boolean,
    speculation: Double,
    wrongExecutor: Double,
    earlyEnds: Double,
    actions: Double,
    hasCallers: Boolean,
    pauseOfProducer: FiniteDuration,
    burst: Int,
    sinkRate: Int,
    producing: FiniteDuration,
    backlog: Int,
    quiet: Option[Quiet],
    bound: FiniteDuration,
    kinesis: Kinesis.Settings
)

final case class Quiet(from: FiniteDuration, length: FiniteDuration) {
  private[simulation] def isOver(nanos: Long): Boolean = nanos < from.toNanos || nanos >= (from + length).toNanos
}

/** One streaming query on one checkpoint.
  *
  * @param runs how it runs: each time that it starts, as the next one says, and then from the first again
  */
final case class QuerySettings(name: String, sources: Vector[SourceSettings], runs: Vector[RunSettings]) {
  def run(number: Int): RunSettings = runs(number % runs.size)

  /** The most of any run. */
  def memory: Long = runs.map(_.memory).max

  /** Some runs are in real-time mode. */
  def isRealTime: Boolean = runs.exists(_.trigger.isInstanceOf[Trigger.RealTime])

  /** Some runs end when they have read what there is. */
  def isRestarted: Boolean = runs.exists(_.trigger.ends)
}

/** What may change from one run of a query to the next.
  *
  * @param memory  of its readers in an executor, in bytes
  * @param sink    options of what it writes with, if it writes to Kinesis
  * @param options that replace those of its sources
  */
final case class RunSettings(
    trigger: Trigger,
    memory: Long,
    sink: Option[Map[String, String]],
    options: Map[String, String]
) {

  /** What is not as in the run before. */
  def changes(before: RunSettings): Vector[String] = {
    val trigger = Option.when(this.trigger != before.trigger)(s"trigger ${this.trigger.productPrefix}")
    val memory  = Option.when(this.memory != before.memory)("readerBufferSize")
    val names = (options.keySet ++ before.options.keySet).filter(name => options.get(name) != before.options.get(name))
    (trigger ++ memory ++ names.map(name =>
      options.get(name).fold(s"no own $name")(value => s"$name $value")
    )).toVector.sorted
  }
}

/** @param consumer registered by others, which it reads through
  * @param options  besides those that all have
  */
final case class SourceSettings(streams: Vector[String], consumer: Option[String], options: Map[String, String]) {
  def mayLoseRecords: Boolean  = options.get("failOnDataLoss").contains("false")
  def position: Option[String] = options.get("startingPosition")
}

sealed trait Trigger extends Product with Serializable {

  /** The query ends when it has read what there is, and begins again. */
  def ends: Boolean = false
}

object Trigger {
  final case class Continuous(interval: Option[FiniteDuration]) extends Trigger

  /** @param pause until the query is started again */
  final case class AvailableNow(pause: FiniteDuration) extends Trigger {
    override def ends: Boolean = true
  }
  final case class Once(pause: FiniteDuration) extends Trigger {
    override def ends: Boolean = true
  }

  /** @param length of a batch */
  final case class RealTime(length: FiniteDuration) extends Trigger
}

/** One fault.
  *
  * @param which decides whom it strikes
  * @param aim      the state of a reader, a phase of a query or another state that it waits for
  * @param patience for so long; then it strikes without
  */
final case class Strike(
    at: FiniteDuration,
    kind: Strike.Kind,
    which: Int,
    length: FiniteDuration,
    aim: Option[String] = None,
    patience: FiniteDuration = 3.seconds
) {
  def ends: FiniteDuration = at + patience + length

  /** Whether it strikes the driver rather than an executor, where it strikes one process. */
  def isAtDriver: Boolean = which % 2 == 0

  /** The number of the executor that it strikes, of so many. */
  def executor(executors: Int): Int = which / 2 % executors

  override def toString: String = s"$kind, number $which, for ${length.toMillis} ms"
}

object Strike {

  /** The `which` of a strike at the driver. */
  val AtDriver = 0

  /** The `which` of a strike at an executor. */
  def atExecutor(number: Int): Int = 2 * number + 1

  /** A query has a shard that listings may lack. */
  val AheadOfListings = "ahead of listings"

  /** Memory is full of records, and a reader waits for more whose query asks for less of it than another. */
  val AwaitsMemory = "awaits memory"

  sealed trait Kind extends Product with Serializable
  object Kind {
    case object Pause              extends Kind
    case object Suspend            extends Kind
    case object WallClock          extends Kind
    case object KillExecutor       extends Kind
    case object KillDriver         extends Kind
    case object JoinExecutor       extends Kind
    case object IdleExecutor       extends Kind
    case object Exclude            extends Kind
    case object Decommission       extends Kind
    case object SecondDriver       extends Kind
    case object RestartQuery       extends Kind
    case object StopQuery          extends Kind
    case object CutOff             extends Kind
    case object CutFromDriver      extends Kind
    case object CutToDriver        extends Kind
    case object CutToService       extends Kind
    case object CutFromService     extends Kind
    case object LostMessages       extends Kind
    case object LostAnswers        extends Kind
    case object SlowMessages       extends Kind
    case object Throttle           extends Kind
    case object ServiceErrors      extends Kind
    case object LostCalls          extends Kind
    case object SlowCalls          extends Kind
    case object FailingCredentials extends Kind
    case object SlowCredentials    extends Kind
    case object StaleListing       extends Kind
    case object Split              extends Kind
    case object Merge              extends Kind
    case object EndSubscriptions   extends Kind
    case object TakeOver           extends Kind
    case object LoseConsumers      extends Kind
    case object FailTasks          extends Kind
    case object SlowTasks          extends Kind

    val all: Vector[Kind] = Vector(
      Pause,
      Suspend,
      WallClock,
      KillExecutor,
      KillDriver,
      JoinExecutor,
      IdleExecutor,
      Exclude,
      Decommission,
      SecondDriver,
      RestartQuery,
      StopQuery,
      CutOff,
      CutFromDriver,
      CutToDriver,
      CutToService,
      CutFromService,
      LostMessages,
      LostAnswers,
      SlowMessages,
      Throttle,
      ServiceErrors,
      LostCalls,
      SlowCalls,
      FailingCredentials,
      SlowCredentials,
      StaleListing,
      Split,
      Merge,
      EndSubscriptions,
      TakeOver,
      LoseConsumers,
      FailTasks,
      SlowTasks
    )
  }
}

object Plan {
  private val Producing = 45.seconds

  /** Records of each shard that positions are drawn among. */
  private val Positioned = 20

  /** What strikes together, in worlds where it matters.
    *
    * @param weight how many worlds are about it, among all
    */
  sealed abstract private class Theme(val weight: Int, some: Strike.Kind*) extends Product with Serializable {
    def kinds: Vector[Strike.Kind] = some.toVector

    /** States of readers that few other worlds have. */
    def rare: Vector[String] = Vector.empty

    /** The share of worlds where any fault strikes in those states, if there are any. */
    def wide: Double = 0.3
  }
  private object Theme {
    import Strike.Kind._

    /** Processes stand still for longer than leases last, while nothing comes. */
    case object Still extends Theme(1, Pause, Suspend)

    /** Driver and executors don't reach each other, and both reach the service. */
    case object Apart    extends Theme(4, CutOff, CutFromDriver, CutToDriver)
    case object Listings extends Theme(4, Split, Merge, StaleListing, KillDriver, RestartQuery) {
      override def rare: Vector[String] = Coverage.ofBoth(Seq("ended"))
    }

    /** A query that ends with what is there can't read before its last record there is past retention. */
    case object Stops  extends Theme(3, CutToService, SlowCalls, Throttle)
    case object Expiry extends Theme(2, Throttle, SlowCalls, Pause, CutToService, RestartQuery, KillExecutor) {
      override def rare: Vector[String] = Coverage.ofBoth(Seq("failed"))
      override def wide: Double         = 0.5
    }
    case object Memory extends Theme(5, RestartQuery, KillExecutor, SlowTasks, SlowCalls) {
      override def rare: Vector[String] = Coverage.ofBoth(Seq("full", "starved"))
    }
    case object Consumers extends Theme(1, EndSubscriptions, TakeOver, LoseConsumers, CutFromDriver, KillExecutor) {
      override def rare: Vector[String] = Vector(Coverage.ofReader(isFanOut = true, "failed"))
    }
    case object Service extends Theme(2, Throttle, ServiceErrors, LostCalls, SlowCalls) {
      override def rare: Vector[String] = Coverage.ofBoth(Seq("behind"))
    }

    /** Calls that write end by their time limits, and may have done what they were to do. Nothing else makes rows come twice. */
    case object Writes      extends Theme(4, SlowCalls)
    case object Credentials extends Theme(1, FailingCredentials, SlowCredentials, CutToService, CutFromService)

    /** Executors that have one shard, and lose it. */
    case object Messages extends Theme(9, KillExecutor, LostMessages, SlowMessages, Pause)

    /** An executor has many shards, and reports of some of them at a time. */
    case object Reports extends Theme(9, LostMessages, LostAnswers, SlowMessages, CutToDriver)

    /** Tasks fail, take long, or have no slot, and executors come and go. */
    case object Tasks
        extends Theme(
          1,
          FailTasks,
          SlowTasks,
          KillExecutor,
          JoinExecutor,
          IdleExecutor,
          Exclude,
          Decommission,
          RestartQuery,
          SecondDriver,
          WallClock
        )
    case object All extends Theme(1, Strike.Kind.all: _*)

    val all: Vector[Theme] =
      Vector(
        Still,
        Apart,
        Listings,
        Stops,
        Expiry,
        Memory,
        Consumers,
        Service,
        Writes,
        Credentials,
        Messages,
        Reports,
        Tasks,
        All
      )

    private val weighted = all.flatMap(theme => Vector.fill(theme.weight)(theme))

    /** Seeds that follow each other have all of them. */
    def of(seed: Long): Theme = weighted(java.lang.Math.floorMod(seed, weighted.size.toLong).toInt)
  }

  def of(seed: Long): Plan = {
    def random(other: Long) = new SplittableRandom(seed ^ other)
    val draw                = new Draw(Theme.of(seed), random(0x5eed), random(0x5e41), random(0x72756e))
    Plan(seed, draw.theme.toString, draw.settings(), draw.strikes())
  }

  /** Draws of one kind don't change with those of another.
    *
    * @param service draws how the service behaves beyond its defaults
    * @param spark   draws how tasks end, and what changes from run to run
    */
  private final class Draw(
      val theme: Theme,
      random: SplittableRandom,
      service: SplittableRandom,
      spark: SplittableRandom
  ) {
    private def between(a: Int, b: Int) = random.nextInt(a, b + 1)
    private def pick[A](all: A*): A     = all(random.nextInt(all.size))
    private def chance(share: Double)   = random.nextDouble() < share

    // Records that go past retention are lost to whom is late, so these worlds are about that alone.
    private val isStop  = theme == Theme.Stops
    private val isOld   = theme == Theme.Expiry || isStop
    private val isLarge = theme == Theme.Memory

    /** Any fault strikes, whenever readers are in the states that the theme makes. */
    private val isWide = theme.rare.nonEmpty && chance(theme.wide)

    /** Two queries read so much at once that readers wait for memory, and the one with more of it leaves for good. */
    private val leaves = isLarge && chance(0.55)

    /** More is there than readers hold, and batches go beyond that. */
    private val lags = isLarge && !leaves && chance(0.8)

    /** Queries plan again and again, as what the theme is about shows in their next batches. */
    private val isSteady = theme == Theme.Reports || ((theme == Theme.Still || theme == Theme.Apart) && chance(0.75))

    /** What they are about shows in few worlds, and in fewer of them the more there is that differs. */
    private val isRare = theme == Theme.Reports || theme == Theme.Messages

    private val quiet = Option.when(theme == Theme.Still || chance(0.15))(
      Quiet(between(3, 15).seconds, between(if (theme == Theme.Still) 100 else 30, 130).seconds)
    )

    private val executors = theme match {
      case Theme.Apart | Theme.Messages => between(2, 3)
      case Theme.Reports                => 1
      case _ if leaves                  => 1
      case _                            => between(1, if (chance(0.3)) 3 else 2)
    }

    private val streams = Vector("events", "orders").take(if (!leaves && chance(0.15)) 2 else 1).map(_ -> shards())

    private def shardsOf(name: String) = streams.toMap.apply(name)

    private def shards() = theme match {
      // Executors that lose a shard have no other.
      case Theme.Messages => between(1, executors - 1)
      case Theme.Reports  => between(4, 6)
      case Theme.Apart    => between(executors, 4)
      case _ if leaves    => between(8, 10)
      case _              => between(1, if (chance(0.3)) 4 else 2)
    }

    /** Half of the worlds have a service that is as awkward as it may be, each in some ways. Those about reports have none: what they show is rare. */
    private val isAwkward          = service.nextDouble() < 0.5 && theme != Theme.Reports
    private def awkward(): Boolean = service.nextDouble() < 0.5 && isAwkward
    private def one[A](all: A*): A = all(service.nextInt(all.size))
    private def any[A](all: A*): A = all(spark.nextInt(all.size))
    private val hasPositions       = !isOld && !leaves && !lags && awkward()
    private val isArrivalsBackFar  = awkward() || hasPositions

    def settings(): WorldSettings = {
      val drawn = anySettings()
      // Many answers have none of the few records that one may have: a shard then gives a few records a second, to all its readers together.
      val isSlow = drawn.kinesis.emptyAnswers > 0 && (isLarge || drawn.kinesis.mostRecords == 10)
      // A call of PutRecords may last for 5 minutes. Where memory is for a few large records, a running task gets one answer at a time.
      val isLong = isLarge || drawn.queries.exists(_.runs.exists(_.sink.nonEmpty))
      drawn.copy(bound = if (isSlow && isLong) 20.minutes else if (isSlow || isLong) 10.minutes else 4.minutes)
    }

    private def anySettings() = {
      val queries = Vector("one", "two").take(if (leaves || chance(if (isLarge) 0.4 else 0.15)) 2 else 1).map(query)
      val slots   = if (theme == Theme.Tasks || theme == Theme.All) pick(1, 2, 4) else 2
      WorldSettings(
        streams,
        queries,
        executors,
        // Real-time tasks run at once, and each source makes as many as there are slots.
        slots = if (queries.map(_.sources.size).sum > 1 && queries.exists(_.isRealTime)) 16 else slots,
        credentials = theme == Theme.Credentials || chance(0.1),
        speculation = pick(0.0, 0.0, 0.1),
        wrongExecutor = pick(0.0, 0.1, 0.3),
        earlyEnds = if (isRare) 0 else any(0.0, 0.0, 0.05, 0.15),
        hasCallers = !isRare && any(true, false, false, false),
        actions = if (isRare) 0 else any(0.0, 0.0, 0.1, 0.4),
        pauseOfProducer =
          if (isStop) 30.seconds
          else if (isOld) pick(1.second, 60.seconds)
          else if (isLarge) pick(1.second, 4.seconds)
          else if (theme == Theme.Reports || theme == Theme.Service) pick(300.millis, 1.second)
          else pick(300.millis, 1.second, 4.seconds, 15.seconds),
        burst = if (isLarge) 2 else pick(1, 3, 20),
        sinkRate = pick(60, 200),
        producing = Producing,
        backlog = if (leaves) 30 else if (lags) 60 else if (hasPositions) Positioned else 0,
        quiet = quiet,
        bound = 4.minutes,
        kinesis = Kinesis.Settings(
          mostRecords = if (leaves) 100 else pick(10, 100, 1000),
          shortAnswers = pick(0.0, 0.3),
          staleAnswers = pick(0.0, 0.05, 0.3),
          emptyAnswers = if (awkward()) one(0.3, 0.7) else 0,
          arrivalsBackMillis = if (!random.nextBoolean()) 0 else if (isArrivalsBackFar) 2000 else 50,
          updateMillis = if (awkward()) one(300, 3000) else 0,
          listingMillis = if (awkward()) one(300, 3000) else 0,
          pageSize = if (awkward()) one(1, 2) else Int.MaxValue,
          tokenMillis = one(20000L, 300000L),
          unknownMillis = if (awkward()) one(100, 1000) else 0,
          otherConsumers = if (awkward()) one(4, 12) else 0,
          callsPerSecond = if (awkward()) one(2, 5) else 1000,
          iteratorMillis = pick(2000L, 300000L),
          subscriptionMillis = pick(20000L, 300000L),
          recordBytes = if (leaves || lags) 400000 else if (isLarge) pick(50000, 400000) else 20,
          oldRecords = if (isOld) pick(5, 50) else 0,
          oldMillis = if (isStop || isWide) 15000 else if (isOld) pick(15000L, 120000L) else 120000L
        )
      )
    }

    private def query(name: String): QuerySettings = {
      val ending =
        pick[Trigger](Trigger.AvailableNow(pick(500.millis, 5.seconds)), Trigger.Once(pick(500.millis, 5.seconds)))
      val trigger =
        if (isStop) Trigger.AvailableNow(500.millis)
        else if (lags) Trigger.Continuous(Some(5.seconds))
        else if (leaves || isSteady) Trigger.Continuous(pick(None, Some(500.millis), Some(1.second)))
        else
          pick[Trigger](
            Trigger.Continuous(None),
            Trigger.Continuous(Some(500.millis)),
            Trigger.Continuous(Some(1.second)),
            Trigger.Continuous(Some(5.seconds)),
            if (isLarge || isOld) ending else Trigger.Continuous(Some(2.seconds)),
            ending,
            Trigger.RealTime(pick(5.seconds, 10.seconds))
          )
      val sources =
        if (!leaves && chance(0.15))
          Vector(source(s"$name-a", streams.map(_._1)), source(s"$name-b", streams.map(_._1).reverse))
        else Vector(source(name, streams.map(_._1)))
      val writes = theme match {
        case Theme.Writes                => 1.0
        case Theme.Tasks | Theme.Service => 0.9
        case _                           => 0.2
      }
      val sink = Option.when(chance(writes))(
        pick(
          Map.empty[String, String],
          Map("ordered" -> "true"),
          Map("ordered" -> "true", "maxInFlightCalls" -> "1")
        ) ++
          any(Map.empty[String, String], Map.empty, Map("aggregate" -> "true", "aggregateSize" -> "1k"))
      )
      val memory = if (lags) 16L else if (!leaves) pick(16L, 16L, 64L, 256L) else if (name == "one") 64L else 16L
      val run    = RunSettings(trigger, memory << 20, sinkOf(trigger, sink), Map.empty)
      QuerySettings(name, sources, run +: laterRuns(run, sink))
    }

    private def sinkOf(trigger: Trigger, sink: Option[Map[String, String]]) =
      if (trigger.isInstanceOf[Trigger.RealTime]) None else sink

    /** In half of the worlds, where the theme leaves it open how a query runs. */
    private def laterRuns(first: RunSettings, sink: Option[Map[String, String]]): Vector[RunSettings] =
      if (isStop || leaves || lags || isSteady || isRare || spark.nextBoolean()) Vector.empty
      else
        Vector.fill(any(1, 2)) {
          val trigger = any[Trigger](
            first.trigger,
            first.trigger,
            Trigger.Continuous(None),
            Trigger.Continuous(Some(2.seconds)),
            Trigger.AvailableNow(1.second),
            Trigger.Once(1.second),
            Trigger.RealTime(5.seconds)
          )
          val options = Map(
            "recordPublisher"        -> any("polling", "efo"),
            "maxRecordsPerTrigger"   -> any("200", "500"),
            "minPartitions"          -> any("1", "6"),
            "maxShardSkew"           -> any("off", "2s"),
            "shardDiscoveryInterval" -> any("1s", "10s"),
            "polling.callsPerSecond" -> "3",
            "deaggregate"            -> "false",
            "startingPosition"       -> any("LATEST", "TRIM_HORIZON")
          )
          RunSettings(
            trigger,
            any(first.memory, 16L << 20, 64L << 20),
            sinkOf(trigger, sink),
            options.filter(_ => any(true, false))
          )
        }

    private def source(name: String, streams: Vector[String]): SourceSettings = {
      val read     = if (chance(0.5)) streams else streams.take(1)
      val isFanOut = chance(theme match {
        case Theme.Consumers => 0.9
        case Theme.Apart     => 0.95
        case Theme.Reports   => 0.8
        case _ if leaves     => if (isWide) 0.5 else 0.1
        case _               => 0.5
      })
      val isGiven = isFanOut && chance(0.2)
      val by      = if (isGiven) Map("efo.registration" -> "none") else Map("efo.consumerName" -> name)
      val limits  = pick(
        Map.empty[String, String],
        Map("maxRecordsPerTrigger" -> "500"),
        Map("maxBytesPerTrigger"   -> (if (isLarge) "4m" else "20k")),
        if (isLarge) Map("maxBytesPerTrigger" -> "4m") else Map("minPartitions" -> "6"),
        Map("minRecordsPerTrigger" -> "50", "maxTriggerDelay" -> "5s"),
        Map("minPartitions"        -> "6"),
        Map("maxShardSkew"         -> "2s")
      )
      // What they hold stays for longer.
      val options =
        if (leaves) Map("maxBytesPerTrigger" -> "4m") else if (lags) Map.empty[String, String] else limits
      val begin =
        if (isOld || leaves || lags || theme == Theme.Reports) "TRIM_HORIZON"
        else pick("TRIM_HORIZON", "TRIM_HORIZON", "LATEST")
      val position = if (hasPositions) positions(read.map(name => name -> shardsOf(name))) else begin
      SourceSettings(
        read,
        Option.when(isGiven)(name),
        options ++ by ++ Map(
          "recordPublisher"  -> (if (isFanOut) "efo" else "polling"),
          "startingPosition" -> position
        ) ++
          (if (isStop) Map("failOnDataLoss" -> "true")
           else if (isOld) Map("failOnDataLoss" -> random.nextBoolean().toString)
           else Map.empty[String, String])
      )
    }

    /** One time for all, or each shard's own position among the records that are there. */
    private def positions(some: Vector[(String, Int)]): String = {
      def time()         = s"AT_TIMESTAMP:${World.Epoch - service.nextInt(2500)}"
      def at(shard: Int) = {
        val number = Kinesis.numberOf(shard, service.nextInt(Positioned))
        one("TRIM_HORIZON", time(), s"AT_SEQUENCE_NUMBER:$number", number.toString)
      }
      if (service.nextBoolean()) time()
      else
        some
          .map { case (name, shards) =>
            Vector
              .tabulate(shards)(i => s"\"${Kinesis.shardId(i)}\": \"${at(i)}\"")
              .mkString(s"\"$name\": {", ", ", "}")
          }
          .mkString("{", ", ", "}")
    }

    /** Of a few kinds in each world, so that the same ones meet; many when the queries begin. Half of them are aimed at a state that is rare. */
    def strikes(): Vector[Strike] = (single() ++ together()).sortBy(_.at)

    /** Such as matter only one after the other. */
    private def together(): Vector[Strike] = {
      def strike(at: Int, kind: Strike.Kind, length: Int, which: Int = between(0, 100)) =
        Strike(at.millis, kind, which, length.millis)
      val from = between(2000, 15000)
      theme match {
        // The query reads the children, and starts again while listings lack them. Then some of them are merged.
        case Theme.Listings =>
          val restart = strike(from + 1000, pick(Strike.Kind.RestartQuery, Strike.Kind.KillDriver), 1000)
          Vector(
            strike(from, Strike.Kind.StaleListing, between(40000, 60000), which = 100),
            strike(from + between(0, 1000), Strike.Kind.Split, 1000, which = 100),
            restart.copy(aim = Some(Strike.AheadOfListings), patience = 30.seconds),
            strike(from + between(5000, 25000), Strike.Kind.Merge, 1000)
          )
        // The readers close while nothing comes that would show it.
        case Theme.Still =>
          quiet.toVector.map { q =>
            val pause = pick(Strike.Kind.Pause, Strike.Kind.Suspend)
            strike(q.from.toMillis.toInt + between(3000, 8000), pause, between(90000, 120000), which = Strike.AtDriver)
          }
        // Others get the shards, and this executor reads on.
        case Theme.Apart =>
          Vector(strike(from, pick(Strike.Kind.CutOff, Strike.Kind.CutFromDriver), between(30000, 90000)))
        case Theme.Service | Theme.Writes => Vector(strike(from, Strike.Kind.SlowCalls, between(15000, 30000)))
        // An answer is lost, and what is sent after it comes at once.
        case Theme.Reports =>
          val length = between(35000, 45000)
          Vector(
            strike(from, Strike.Kind.LostAnswers, length),
            strike(from, Strike.Kind.SlowMessages, length)
          )
        // Executors lose shards, and what they are told then is lost, too.
        case Theme.Messages         => Vector(strike(from, Strike.Kind.LostMessages, between(5000, 12000), which = 1))
        case Theme.Memory if leaves =>
          Vector(strike(0, Strike.Kind.StopQuery, 0).copy(aim = Some(Strike.AwaitsMemory), patience = 30.seconds))
        case Theme.Stops =>
          Vector(
            strike(
              between(0, 1000),
              Strike.Kind.CutToService,
              between(15000, 40000),
              which = Strike.atExecutor(between(0, 2))
            )
          )
        // Executors find the closed shard gone, and their driver can't ask about it.
        case Theme.Expiry if isWide =>
          val length = between(9000, 20000)
          strike(length - 1000, Strike.Kind.CutToService, between(15000, 40000), which = Strike.AtDriver) +:
            Vector.tabulate(executors)(i => strike(0, Strike.Kind.CutToService, length, which = Strike.atExecutor(i)))
        case _ => Vector.empty
      }
    }

    private def single(): Vector[Strike] = {
      val kinds =
        if (theme == Theme.All || isWide) Vector.fill(between(2, 7))(pick(Strike.Kind.all: _*)) else theme.kinds
      val isLong = theme == Theme.Still
      Vector
        .fill(if (isLong) pick(0, 0, 1, 3) else pick(1, 3, 3, 8, 16)) {
          Strike(
            (if (chance(0.25)) between(0, pick(100, 2000)) else between(0, Producing.toMillis.toInt)).millis,
            pick(kinds: _*),
            between(0, 100),
            (if (isLong) pick(between(1000, 15000), between(60000, 130000), between(60000, 130000))
             else pick(between(50, 1000), between(1000, 15000), between(10000, 60000), between(60000, 130000))).millis,
            if (isWide) Some(pick(theme.rare: _*)) else Option.when(chance(0.5))(pick(Coverage.states: _*)),
            if (isWide) 20.seconds else 3.seconds
          )
        }
    }
  }
}
