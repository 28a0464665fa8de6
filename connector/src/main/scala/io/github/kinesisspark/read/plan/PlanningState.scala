package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position._

/** Where the next batch starts: the offset of the last one, and what enters now.
  *
  * A shard enters with the position it begins at, which the batch's end offset keeps (`ShardProgress.firstPosition`): so a
  * re-run of the batch begins there too, though its start offset does not have the shard. One that begins at a time does so with the first record that
  * was seen, which the end offset keeps as well.
  *
  * @param start   the last batch's end
  * @param streams what is known of each stream that is read
  * @param firsts  the first record of shards that begin at a time, if it has been seen
  */
final case class PlanningState(
    start: KinesisOffset,
    streams: Map[StreamArn, PlanningState.Stream],
    firsts: Map[ShardKey, SequenceNumber] = Map.empty
) {

  private val entering: Map[StreamArn, Map[String, ShardPosition]] = streams.map { case (arn, stream) =>
    val positions = start.streams.get(arn) match {
      case None         => stream.initialPositions
      case Some(offset) => stream.lineage.entering(offset.shards).map(_ -> ShardPosition.TrimHorizon)
    }
    arn -> positions.toMap
  }

  /** Every shard of the batch that is not at its end, and where it was meant to continue: perhaps at a time. */
  val starts: Map[ShardKey, ShardPosition] =
    (start.shards.map { case (shard, progress) => shard -> progress.position } ++ enteringShards).filterNot {
      case (_, position) => position == ShardPosition.ShardEnd
    }.toMap

  /** Those shards, and where they continue, as exactly as it is known. */
  val reading: Map[ShardKey, ShardPosition] = if (firsts.isEmpty) starts else starts.transform(exactly(_, _))

  private def exactly(shard: ShardKey, position: ShardPosition) =
    if (position.isTime) firsts.get(shard).fold(position)(ShardPosition.AtSequenceNumber(_)) else position

  /** With those of these first records whose shards begin at a time. */
  def beginningWith(seen: Map[ShardKey, SequenceNumber]): PlanningState = {
    val wanted = seen.filter { case (shard, _) => starts.get(shard).exists(_.isTime) }
    // Another state takes as long to make as this one did.
    if (wanted.isEmpty) this else copy(firsts = firsts ++ wanted)
  }

  /** Those of them that the service still has. */
  def open: Map[ShardKey, ShardPosition] = reading -- pastRetention

  def hashStart(shard: ShardKey): BigInt = streams(shard.stream).lineage.hashStart(shard.shardId)

  /** The listed parents of a shard that enters with this batch; none of others. */
  def parents(shard: ShardKey): Iterable[ShardKey] =
    if (entering.get(shard.stream).exists(_.contains(shard.shardId)))
      streams(shard.stream).lineage.parentsOf(shard.shardId).map(ShardKey(shard.stream, _))
    else Nil

  /** Descendants of unfinished shards that don't begin when these end: a given position named them beside their parents, or descendants of theirs. */
  def besideParents: Set[ShardKey] = streams.iterator.flatMap { case (arn, stream) =>
    val lineage    = stream.lineage
    val unfinished = starts.keysIterator.filter(_.stream == arn).map(_.shardId).toSet
    val named      = unfinished ++ start.streams.get(arn).toSeq.flatMap(_.shards.keys)
    val below      = lineage.inOrder.foldLeft(Set.empty[String]) { (below, id) =>
      if (lineage.parentsOf(id).exists(parent => unfinished(parent) || below(parent))) below + id else below
    }
    val towards =
      if (below.isEmpty) below
      else lineage.inOrder.foldRight(named)((id, all) => if (all(id)) all ++ lineage.parentsOf(id) else all)
    below.filter(towards).map(ShardKey(arn, _))
  }.toSet

  /** Those of them that are closed. */
  lazy val ending: Set[ShardKey] = streams.iterator
    .flatMap { case (arn, stream) => stream.lineage.closed.iterator.map(ShardKey(arn, _)) }
    .filter(reading.contains)
    .toSet

  /** Whether a stream is new: where it begins is stored at once, before any data. */
  def hasNewStreams: Boolean = streams.keys.exists(!start.streams.contains(_))

  /** Streams with finished shards whose children the listing doesn't show: it is older than their end. */
  def awaitingChildren: Set[StreamArn] = start.streams.iterator.collect {
    case (arn, offset) if offset.shards.exists { case (id, p) =>
          p.isAtEnd && streams(arn).lineage.awaitsChildrenOf(id)
        } =>
      arn
  }.toSet

  /** Shards that were not read to their end and that the service doesn't have any more. */
  lazy val pastRetention: Vector[ShardKey] = ofStreams(_.pastRetention(_))

  /** Unknown shards that the service is to be asked about. */
  def doubtful: Vector[ShardKey] = ofStreams(_.doubtful(_))

  private def ofStreams(of: (Lineage, Lineage.Known) => Vector[String]) = start.streams.iterator.flatMap {
    case (arn, offset) => of(streams(arn).lineage, offset.shards).map(ShardKey(arn, _))
  }.toVector

  /** The offset after a batch in which shards moved. Finished shards leave it one batch after their last, when their
    * children are in.
    *
    * @param begun children of shards that ended in this batch and that were begun in it at their trim horizon, in real-time mode
    */
  def end(moved: collection.Map[ShardKey, ShardPosition], begun: Set[ShardKey] = Set.empty): KinesisOffset = {
    def progress(shard: ShardKey, from: ShardPosition, isNamed: Boolean) = {
      val exact = exactly(shard, from)
      ShardProgress(moved.getOrElse(shard, exact), Option.unless(isNamed && exact == from)(exact))
    }
    KinesisOffset(
      streams.map { case (arn, stream) =>
        val before = start.streams.get(arn).fold(StreamOffset.noShards)(_.shards)
        // The tree of ten thousand shards keeps its shape: nothing is sorted again.
        val after = before.transform((id, p) => progress(ShardKey(arn, id), p.position, isNamed = true)) ++
          (entering(arn) ++ fresh(arn, begun)).map { case (id, from) =>
            id -> progress(ShardKey(arn, id), from, isNamed = false)
          }
        val retired = stream.lineage.retiring(after).filter(before.get(_).exists(_.isAtEnd))
        arn -> new StreamOffset(stream.createdMillis, after -- retired, start.streams.get(arn).flatMap(_.completeTo))
      }
    )
  }

  private def fresh(stream: StreamArn, begun: Set[ShardKey]) = begun.iterator
    .filter(_.stream == stream)
    .map(_.shardId -> ShardPosition.TrimHorizon)
    .toMap

  private def enteringShards = for {
    (arn, shards)  <- entering.iterator
    (id, position) <- shards.iterator
  } yield ShardKey(arn, id) -> position
}

object PlanningState {

  /** @param createdMillis    the stream's creation time
    * @param initialPositions where its shards begin when the offset doesn't know the stream
    */
  final case class Stream(createdMillis: Long, lineage: Lineage, initialPositions: Vector[(String, ShardPosition)])
}
