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
  private var done         = Map.empty[String, Int]

  def act(deed: Deed): Unit = deed match {
    case Begin(faults: Trouble.Faults) =>
      faults.rules.foreach(server.faults.add)
      active :+= faults
    case End(faults: Trouble.Faults) =>
      val struck = faults.rules.flatMap(server.faults.remove).map(_.struck).sum
      active = active.filterNot(_ eq faults)
      struckBefore = struckBefore.updatedWith(faults.name)(before => Some(before.getOrElse(0L) + struck))
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

  /** How often each trouble struck so far. */
  def struck: Map[String, Long] = {
    val now = server.faults.list.groupMapReduce(_.rule)(_.struck)(_ + _)
    active.foldLeft(struckBefore)((all, faults) =>
      all.updatedWith(faults.name)(n => Some(n.getOrElse(0L) + faults.rules.flatMap(now.get).sum))
    )
  }

  /** How often each other deed was done. */
  def deeds: Map[String, Int] = done

  private def openShards = server.streams.shards(stream).filter(_.isOpen).sortBy(_.range.start)

  private def at[A](all: Vector[A], place: Double): A = all((place * all.size).toInt)

  private def count(what: String): Unit = done = done.updatedWith(what)(n => Some(n.getOrElse(0) + 1))
}
