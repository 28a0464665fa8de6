package io.github.kinesisspark.simulation

import java.util.SplittableRandom

import scala.concurrent.duration._

/** A world and what strikes it.
  *
  * @param seed of all that is drawn while the world runs
  */
final case class Plan(seed: Long, settings: WorldSettings, strikes: Vector[Strike])

/** @param streams   by name, with the number of their shards
  * @param producing how long records come
  * @param burst     records that come at once, at most
  * @param bound     how long after the last fault all must be read
  */
final case class WorldSettings(
    streams: Vector[(String, Int)],
    queries: Vector[QuerySettings],
    executors: Int,
    credentials: Boolean,
    speculation: Double,
    wrongExecutor: Double,
    pauseOfProducer: FiniteDuration,
    burst: Int,
    producing: FiniteDuration,
    bound: FiniteDuration,
    kinesis: Kinesis.Settings
)

/** One streaming query.
  *
  * @param memory of its readers in an executor, in bytes
  * @param sink options of what it writes with, if it writes to Kinesis
  */
final case class QuerySettings(
    name: String,
    sources: Vector[SourceSettings],
    trigger: Trigger,
    memory: Long,
    sink: Option[Map[String, String]]
)

/** @param consumer registered by others, which it reads through
  * @param options  besides those that all have
  */
final case class SourceSettings(streams: Vector[String], consumer: Option[String], options: Map[String, String]) {
  def isFanOut: Boolean        = options.get("recordPublisher").contains("efo")
  def mayLoseRecords: Boolean  = options.get("failOnDataLoss").contains("false")
  def position: Option[String] = options.get("startingPosition")
}

sealed trait Trigger extends Product with Serializable

object Trigger {
  final case class Continuous(interval: Option[FiniteDuration]) extends Trigger

  /** The query ends when it has read what there was, and is started again after a pause. */
  final case class AvailableNow(pause: FiniteDuration) extends Trigger
  final case class Once(pause: FiniteDuration)         extends Trigger

  /** @param length of a batch */
  final case class RealTime(length: FiniteDuration) extends Trigger
}

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
    case object Pause              extends Kind
    case object Suspend            extends Kind
    case object WallClock          extends Kind
    case object KillExecutor       extends Kind
    case object KillDriver         extends Kind
    case object SecondDriver       extends Kind
    case object RestartQuery       extends Kind
    case object CutFromDriver      extends Kind
    case object CutToDriver        extends Kind
    case object CutToService       extends Kind
    case object CutFromService     extends Kind
    case object LostMessages       extends Kind
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
      SecondDriver,
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

  def of(seed: Long): Plan = {
    val draw = new Draw(new SplittableRandom(seed ^ 0x5eed))
    Plan(seed, draw.settings(), draw.strikes())
  }

  private final class Draw(random: SplittableRandom) {
    private def between(a: Int, b: Int) = random.nextInt(a, b + 1)
    private def pick[A](all: A*): A     = all(random.nextInt(all.size))
    private def chance(share: Double)   = random.nextDouble() < share

    def settings(): WorldSettings = {
      val streams = Vector("events", "orders").take(if (chance(0.25)) 2 else 1).map(_ -> between(1, 4))
      // Records that go past retention are lost to whom is late, so these worlds are about that alone.
      val isOld   = chance(0.1)
      val isLarge = !isOld && chance(0.1)
      val queries =
        Vector("one", "two").take(if (chance(0.25)) 2 else 1).map(query(_, streams.map(_._1), isOld, isLarge))
      WorldSettings(
        streams,
        queries,
        executors = between(1, 3),
        credentials = chance(0.3),
        speculation = pick(0.0, 0.1),
        wrongExecutor = pick(0.0, 0.1),
        pauseOfProducer = pick(300.millis, 1.second, 4.seconds),
        burst = if (isLarge) 10 else pick(3, 20, 60),
        producing = Producing,
        bound = 4.minutes,
        kinesis = Kinesis.Settings(
          mostRecords = pick(10, 100, 1000),
          shortAnswers = pick(0.0, 0.3),
          staleAnswers = pick(0.0, 0.05),
          arrivalsGoBack = random.nextBoolean(),
          iteratorMillis = pick(2000L, 300000L),
          subscriptionMillis = pick(20000L, 300000L),
          recordBytes = if (isLarge) pick(50000, 400000) else 20,
          oldRecords = if (isOld) pick(5, 50) else 0
        )
      )
    }

    private def query(name: String, streams: Vector[String], isOld: Boolean, isLarge: Boolean): QuerySettings = {
      val trigger = pick[Trigger](
        Trigger.Continuous(None),
        Trigger.Continuous(Some(500.millis)),
        Trigger.Continuous(Some(1.second)),
        Trigger.Continuous(Some(5.seconds)),
        Trigger.AvailableNow(pick(500.millis, 5.seconds)),
        Trigger.Once(pick(500.millis, 5.seconds)),
        Trigger.RealTime(pick(5.seconds, 10.seconds))
      )
      val sources =
        if (chance(0.2))
          Vector(source(s"$name-a", streams, isOld, isLarge), source(s"$name-b", streams.reverse, isOld, isLarge))
        else Vector(source(name, streams, isOld, isLarge))
      val sink = Option.when(chance(0.4))(
        pick(Map.empty[String, String], Map("ordered" -> "true"), Map("ordered" -> "true", "maxInFlightCalls" -> "1"))
      )
      val memory = pick(16L, 16L, 64L, 256L) << 20
      QuerySettings(name, sources, trigger, memory, if (trigger.isInstanceOf[Trigger.RealTime]) None else sink)
    }

    private def source(name: String, streams: Vector[String], isOld: Boolean, isLarge: Boolean): SourceSettings = {
      val read     = if (chance(0.5)) streams else streams.take(1)
      val isFanOut = random.nextBoolean()
      val isGiven  = isFanOut && chance(0.2)
      val fanOut   = Map("recordPublisher" -> "efo") ++
        (if (isGiven) Map("efo.registration" -> "none") else Map("efo.consumerName" -> name))
      val options = pick(
        Map.empty[String, String],
        Map("maxRecordsPerTrigger" -> "500"),
        Map("maxBytesPerTrigger"   -> (if (isLarge) "600k" else "20k")),
        Map("minRecordsPerTrigger" -> "50", "maxTriggerDelay" -> "5s"),
        Map("minPartitions"        -> "6"),
        Map("maxShardSkew"         -> "2s")
      )
      val begin = if (isOld) "TRIM_HORIZON" else pick("TRIM_HORIZON", "TRIM_HORIZON", "LATEST")
      SourceSettings(
        read,
        Option.when(isGiven)(name),
        options ++ (if (isFanOut) fanOut else Map.empty[String, String]) +
          ("startingPosition" -> begin) ++
          (if (isOld) Map("failOnDataLoss" -> random.nextBoolean().toString) else Map.empty[String, String])
      )
    }

    /** Of a few kinds in each world, so that the same ones meet; many when a query begins, or when something has just been hit. */
    def strikes(): Vector[Strike] = {
      val kinds = Vector.fill(between(2, 7))(pick(Strike.Kind.all: _*))
      Vector
        .fill(pick(0, 3, 8, 20)) {
          Strike(
            (if (chance(0.25)) between(0, 2000) else between(0, Producing.toMillis.toInt)).millis,
            pick(kinds: _*),
            between(0, 100),
            pick(between(50, 1000), between(1000, 15000), between(10000, 60000), between(60000, 100000)).millis
          )
        }
        .sortBy(_.at)
    }
  }
}
