package io.github.kinesisspark.simulation

import java.util.SplittableRandom

import scala.collection.mutable
import scala.concurrent.duration._

import io.github.kinesisspark.aws.KinesisClients
import io.github.kinesisspark.config.SourceOptions
import io.github.kinesisspark.position.{KinesisOffset, OffsetJson, ShardPosition, ShardRange}

/** One simulated world: the service, a stream's producer, a query, and the faults that strike them. It checks what must hold after each batch, and that
  * all is read in the end.
  */
final class World(seed: Long, val plan: Plan, trace: Trace) {
  import World._

  val settings: WorldSettings = plan.settings
  val baton                   = new Baton(seed, trace)
  val network                 = new Network(baton)
  val service                 = new Kinesis(baton, Epoch, settings.shards, settings.kinesis)
  val checkpoint              = new Checkpoint
  val faults                  = new TaskFaults

  private val clientsOf    = mutable.HashMap.empty[Process, KinesisClients]
  private val delivered    = mutable.HashMap.empty[(String, BigInt), Int]
  private val firstBatch   = mutable.HashMap.empty[String, Int]
  private val byShard      = mutable.HashMap.empty[String, Int]
  private val struck       = mutable.TreeMap.empty[String, Int]
  private var plannedFirst = Map.empty[Int, String]
  private var applications = 0
  private var current      = Option.empty[Application]
  private var isProducing  = true

  def process(name: String): Process = new Process(name, baton, trace, Epoch + baton.between(-2000, 2000))

  def clients(process: Process): KinesisClients = clientsOf.getOrElseUpdate(
    process,
    new KinesisClients((_, success) =>
      new KinesisClients.Held(new KinesisClient(process, service, network, baton), success, () => ())
    )(process.runtime)
  )

  /** Runs it to its end.
    *
    * @throws SimulationFailure what did not hold
    */
  def run(): Outcome = {
    produce()
    plan.strikes.foreach(strike => baton.at(strike.at.toNanos)(this.strike(strike)))
    begin()
    val lastFault = plan.strikes.iterator.map(s => (s.at + s.length).toNanos).maxOption.getOrElse(0L)
    baton.at(lastFault.max(settings.producing.toNanos)) {
      isProducing = false
      mend()
      awaitEnd(baton.now + settings.bound.toNanos)
    }
    baton.run()
    Outcome(
      delivered.size,
      checkpoint.committed,
      struck.toMap,
      baton.now.nanos.toMillis.millis,
      baton.passes,
      trace.hash
    )
  }

  private def begin(): Unit = {
    applications += 1
    val made = new Application(this, applications, options)
    current = Some(made)
    made.driver.log("starts")
    made.start(settings.executors)
  }

  private def options: SourceOptions = SourceOptions.parse(
    Map(
      "streamName"             -> Kinesis.StreamName,
      "region"                 -> "us-east-1",
      "startingPosition"       -> "TRIM_HORIZON",
      "shardDiscoveryInterval" -> "5s"
    ) ++
      settings.options
  )

  private def produce(): Unit = baton.after(baton.between(0, settings.pauseOfProducer.toNanos * 2)) {
    if (isProducing) {
      (0L to baton.between(0, settings.burst.toLong)).foreach { _ =>
        service.put(BigInt(127, new java.util.Random(baton.random.nextLong())) * 2, s"r${service.putRecords}")
      }
      produce()
    }
  }

  /** Every second, whether all is read. */
  private def awaitEnd(until: Long): Unit = baton.after(1.second.toNanos) {
    if (delivered.size == service.putRecords) baton.stop()
    else if (baton.now > until)
      fail(
        s"${service.putRecords - delivered.size} of ${service.putRecords} records are not read ${settings.bound} after the last fault: $missing"
      )
    else awaitEnd(until)
  }

  private def missing = service.all.map(s => s"${s.id} ${byShard.getOrElse(s.id, 0)}/${s.records.size}").mkString(", ")

  private def fail(what: String): Unit = baton.fail(new SimulationFailure(what, None))

  /** All is well again, whatever strikes have done. */
  private def mend(): Unit = {
    trace.event(baton.now, "world", "no more faults; all must be read soon")
    service.faults.throttled = 0
    service.faults.failed = 0
    service.faults.lost = 0
    service.faults.slow = 0
    service.lag(0)
    network.lost = 0
    network.slow = 0
    faults.failedTasks = 0
    faults.slowRows = 0
  }

  private def strike(strike: Strike): Unit = current.filter(_.isAlive).foreach { application =>
    import Strike.Kind._
    def some     = application.processes(strike.which % application.processes.size)
    def executor = Option.when(application.living.nonEmpty)(application.living(strike.which % application.living.size))
    def shard    = service.open(strike.which % service.open.size)
    val length   = strike.length.toNanos
    def during(begin: => Unit)(end: => Unit): Unit = {
      begin
      baton.after(length)(end)
    }
    struck(strike.kind.toString) = struck.getOrElse(strike.kind.toString, 0) + 1
    trace.event(baton.now, "world", strike.toString)
    strike.kind match {
      case Pause        => some.pause(length)
      case Suspend      => some.suspend(length)
      case WallClock    => some.setBack(strike.length.toMillis)
      case KillExecutor => executor.foreach(application.kill(_))
      case KillDriver   =>
        application.kill()
        baton.after(baton.between(1.second.toNanos, 20.seconds.toNanos))(begin())
      case RestartQuery     => application.restartQuery()
      case CutFromDriver    => executor.foreach(e => network.cut(application.driver.name, e.process.name, length))
      case CutToDriver      => executor.foreach(e => network.cut(e.process.name, application.driver.name, length))
      case CutToService     => network.cut(some.name, KinesisClient.Service, length)
      case CutFromService   => network.cut(KinesisClient.Service, some.name, length)
      case LostMessages     => during(network.lost = 0.2)(network.lost = 0)
      case SlowMessages     => during(network.slow = 0.2)(network.slow = 0)
      case Throttle         => during(service.faults.throttled = 0.7)(service.faults.throttled = 0)
      case ServiceErrors    => during(service.faults.failed = 0.5)(service.faults.failed = 0)
      case LostCalls        => during(service.faults.lost = 0.3)(service.faults.lost = 0)
      case SlowCalls        => during(service.faults.slow = 0.3)(service.faults.slow = 0)
      case StaleListing     => during(service.lag(10000))(service.lag(0))
      case Split            => service.split(shard)
      case Merge            => service.merge(shard)
      case EndSubscriptions => service.endSubscriptions(abruptly = strike.which % 2 == 0)
      case TakeOver         => service.takeOver()
      case FailTasks        => during(faults.failedTasks = 0.2)(faults.failedTasks = 0)
      case SlowTasks        => during(faults.slowRows = 0.02)(faults.slowRows = 0)
    }
  }

  /** A batch is in the offset log. */
  private[simulation] def planned(batch: Int): Unit =
    plannedFirst += batch -> checkpoint.planned(batch)

  /** What an attempt of a task has read: exactly its ranges. */
  private[simulation] def readBy(ranges: Vector[ShardRange], rows: Vector[Row]): Unit = {
    val read = rows.groupBy(_.shard)
    ranges.groupBy(_.shard.shardId).foreach { case (id, its) =>
      val expected = its.flatMap(within)
      val found    = read.getOrElse(id, Vector.empty).map(_.number)
      if (expected.map(_.number) != found)
        fail(
          s"a task has read ${found.size} records of $id where $its has ${expected.size}; ${difference(expected.map(_.number), found)}"
        )
    }
  }

  private def difference(expected: Vector[BigInt], found: Vector[BigInt]) =
    s"missing ${expected.diff(found).size}, too many ${found.diff(expected).size}"

  private def within(range: ShardRange): Vector[Kinesis.Record] = {
    val shard = service.shard(range.shard.shardId)
    val from  = range.start match {
      case ShardPosition.TrimHorizon            => 0
      case ShardPosition.AfterSequenceNumber(n) => shard.indexAbove(BigInt(n.text))
      case other                                => throw new IllegalStateException(s"a batch begins at $other")
    }
    val to = range.end match {
      case ShardPosition.ShardEnd               => shard.records.size
      case ShardPosition.AfterSequenceNumber(n) => shard.indexAbove(BigInt(n.text))
      case other                                => throw new IllegalStateException(s"a batch ends at $other")
    }
    shard.records.slice(from, to).toVector
  }

  /** The ranges of a batch are those that its offsets say, each once. */
  private[simulation] def read(batch: Int, ranges: Vector[ShardRange], rows: Vector[Row]): Unit = {
    def offset(number: Int) =
      if (number < 0) KinesisOffset.initial
      else OffsetJson.read(checkpoint.planned(number))
    val expected = offset(batch - 1).rangesTo(offset(batch)).flatMap(within).map(_.number)
    if (rows.map(_.number).sorted != expected.sorted)
      fail(
        s"batch $batch: ${rows.size} records where its offsets say ${expected.size}; ${difference(expected, rows.map(_.number))}"
      )
    val _ = ranges
  }

  /** No record comes twice, and children come in a batch after their parents' last. */
  private[simulation] def committed(batch: Int, rows: Vector[Row]): Unit = {
    if (plannedFirst.get(batch).exists(_ != checkpoint.planned(batch)))
      fail(s"batch $batch has changed since it was logged")
    val shards = rows.map(_.shard).distinct
    shards.foreach { id =>
      if (!firstBatch.contains(id)) firstBatch(id) = batch
      service.shard(id).parents.map(service.shard).foreach { parent =>
        if (byShard.getOrElse(parent.id, 0) < parent.records.size)
          fail(s"batch $batch has records of $id, whose parent ${parent.id} is not read: $missing")
      }
    }
    rows.foreach { row =>
      if (delivered.put((row.shard, row.number), batch).isDefined)
        fail(s"batch $batch: ${row.data} of ${row.shard} comes again")
    }
    shards.foreach(id => byShard(id) = byShard.getOrElse(id, 0) + rows.count(_.shard == id))
  }
}

object World {

  /** When each simulation begins, in ms since 1970. */
  private val Epoch = 1800000000000L

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
      hash: String
  )
}

/** Shares of what tasks do wrong. */
final class TaskFaults {
  var failedTasks = 0.0
  var slowRows    = 0.0
}

/** @param bound   how long after the last fault all must be read
  * @param burst   records that come at once, at most
  * @param options of the source
  */
final case class WorldSettings(
    shards: Int,
    executors: Int,
    trigger: Option[FiniteDuration],
    speculation: Double,
    wrongExecutor: Double,
    pauseOfProducer: FiniteDuration,
    burst: Int,
    producing: FiniteDuration,
    bound: FiniteDuration,
    kinesis: Kinesis.Settings,
    options: Map[String, String]
)

/** One fault.
  *
  * @param which decides whom it strikes
  */
final case class Strike(at: FiniteDuration, kind: Strike.Kind, which: Int, length: FiniteDuration) {
  override def toString: String = s"$kind, number $which, for ${length.toMillis} ms"
}

object Strike {
  sealed trait Kind extends Product with Serializable
  object Kind {
    case object Pause            extends Kind
    case object Suspend          extends Kind
    case object WallClock        extends Kind
    case object KillExecutor     extends Kind
    case object KillDriver       extends Kind
    case object RestartQuery     extends Kind
    case object CutFromDriver    extends Kind
    case object CutToDriver      extends Kind
    case object CutToService     extends Kind
    case object CutFromService   extends Kind
    case object LostMessages     extends Kind
    case object SlowMessages     extends Kind
    case object Throttle         extends Kind
    case object ServiceErrors    extends Kind
    case object LostCalls        extends Kind
    case object SlowCalls        extends Kind
    case object StaleListing     extends Kind
    case object Split            extends Kind
    case object Merge            extends Kind
    case object EndSubscriptions extends Kind
    case object TakeOver         extends Kind
    case object FailTasks        extends Kind
    case object SlowTasks        extends Kind

    val all: Vector[Kind] = Vector(
      Pause,
      Suspend,
      WallClock,
      KillExecutor,
      KillDriver,
      RestartQuery,
      CutFromDriver,
      CutToDriver,
      CutToService,
      CutFromService,
      LostMessages,
      SlowMessages,
      Throttle,
      ServiceErrors,
      LostCalls,
      SlowCalls,
      StaleListing,
      Split,
      Merge,
      EndSubscriptions,
      TakeOver,
      FailTasks,
      SlowTasks
    )
  }
}

/** A world and what strikes it, drawn from a seed. */
final case class Plan(settings: WorldSettings, strikes: Vector[Strike])

object Plan {
  def of(seed: Long): Plan = {
    val random                  = new SplittableRandom(seed ^ 0x5eed)
    def between(a: Int, b: Int) = random.nextInt(a, b + 1)
    def pick[A](all: A*)        = all(random.nextInt(all.size))
    val isFanOut                = random.nextBoolean()
    val settings                = WorldSettings(
      shards = between(1, 4),
      executors = between(1, 3),
      trigger = pick(None, Some(500.millis), Some(1.second), Some(5.seconds)),
      speculation = pick(0.0, 0.1),
      wrongExecutor = pick(0.0, 0.1),
      pauseOfProducer = pick(300.millis, 1.second, 4.seconds),
      burst = pick(3, 20, 60),
      producing = 45.seconds,
      bound = if (isFanOut) 8.minutes else 5.minutes,
      kinesis = Kinesis.Settings(
        mostRecords = pick(10, 100, 1000),
        shortAnswers = pick(0.0, 0.3),
        arrivalsGoBack = random.nextBoolean(),
        iteratorMillis = pick(2000L, 300000L),
        subscriptionMillis = pick(20000L, 300000L)
      ),
      options = (if (isFanOut) Map("recordPublisher" -> "efo", "efo.consumerName" -> "reader")
                 else Map.empty[String, String]) ++
        pick(
          Map.empty[String, String],
          Map("maxRecordsPerTrigger" -> "500"),
          Map("minPartitions"        -> "6"),
          Map("maxShardSkew"         -> "2s")
        )
    )
    val strikes = Vector.fill(pick(0, 3, 8, 20)) {
      Strike(
        between(0, 45000).millis,
        Strike.Kind.all(random.nextInt(Strike.Kind.all.size)),
        between(0, 100),
        pick(between(50, 1000), between(1000, 15000), between(10000, 70000)).millis
      )
    }
    Plan(settings, strikes.sortBy(_.at))
  }
}
