package io.github.kinesisspark.it.soak

/** Does the deeds, and counts what came of them. */
final class Nemesis(
    world: World,
    query: SoakQuery,
    producer: Producer,
    pace: Pace
) {
  import Deed._
  import world.{server, stream}

  private var struckBefore = Map.empty[String, Long]
  private var active       = Vector.empty[Trouble.Faults]
  private var overdue      = Vector.empty[Trouble.Faults]
  private var done         = Map.empty[String, Int]

  def act(deed: Deed): Unit = deed match {
    case Begin(faults: Trouble.Faults) =>
      faults.rules.foreach(server.faults.add)
      active :+= faults
    // What has not struck yet goes on until it has: the query may have been busy with other things.
    case End(faults: Trouble.Faults)       => if (struckBy(faults) > 0) end(faults) else overdue :+= faults
    case Begin(Trouble.SlowBatches(pause)) =>
      pace.set(pause)
      count("slow")
    case End(_: Trouble.SlowBatches) => pace.none()
    case Split(place)                =>
      val shards = openShards
      server.streams.split(stream, at(shards, place).id)
      count("splits")
    case Merge(place) =>
      val shards = openShards
      val first  = at(shards.init, place)
      server.streams.merge(stream, first.id, shards(shards.indexOf(first) + 1).id)
      count("merges")
    case Burst(records) =>
      producer.burst(records)
      count("bursts")
    case StopQuery          => query.stop()
    case StartQuery         => query.start()
    case DeregisterConsumer => if (world.deregister()) count("deregistrations")
  }

  /** Ends what should have ended and has struck meanwhile. */
  def look(): Unit = overdue.filter(struckBy(_) > 0).foreach(end)

  /** Whether nothing goes on that should have ended. */
  def isDone: Boolean = overdue.isEmpty

  /** Ends whatever still goes on. */
  def calm(): Unit = {
    active.foreach(end)
    pace.none()
  }

  /** How often each trouble struck so far. */
  def struck: Map[String, Long] =
    active.foldLeft(struckBefore)((all, faults) => plus(all, faults.name, struckBy(faults)))

  /** How often each other deed was done. */
  def deeds: Map[String, Int] = done

  /** What the first rule does is what the trouble is about; the others help. */
  private def struckBy(faults: Trouble.Faults): Long =
    server.faults.list.find(_.rule == faults.rules.head).fold(0L)(_.struck)

  private def end(faults: Trouble.Faults): Unit = {
    val struck = faults.rules.flatMap(server.faults.remove)
    struckBefore = plus(struckBefore, faults.name, struck.find(_.rule == faults.rules.head).fold(0L)(_.struck))
    active = active.filterNot(_ eq faults)
    overdue = overdue.filterNot(_ eq faults)
  }

  private def plus(all: Map[String, Long], name: String, more: Long): Map[String, Long] =
    all.updatedWith(name)(n => Some(n.getOrElse(0L) + more))

  private def openShards = server.streams.shards(stream).filter(_.isOpen).sortBy(_.range.start)

  private def at[A](all: Vector[A], place: Double): A = all((place * all.size).toInt)

  private def count(what: String): Unit = done = done.updatedWith(what)(n => Some(n.getOrElse(0) + 1))
}
