package io.github.kinesisspark.read.plan

import io.github.kinesisspark.position.{Shard, ShardPosition, ShardProgress}

/** Who descends from whom in one stream, as far as its shards are known, and what that means for an offset.
  *
  * Parents before children: a child enters the offset when all its parents have been read to their end. A parent that the service has denied counts
  * as read: whatever it held is past retention. One that is unknown may be missing only because the listing is old: then nothing enters and
  * nothing is lost until the service was asked about it.
  *
  * @param gone     that the service has denied
  * @param unlisted that only their parents have named
  */
final class Lineage private (shards: Map[String, Shard], gone: Set[String], unlisted: Set[String]) {
  import Lineage.Known

  private val children: Map[String, Seq[String]] =
    shards.values.toSeq.flatMap(s => s.parents.map(_ -> s.id)).groupMap(_._1)(_._2)

  /** Those that are split or merged away, and so have an end. */
  lazy val closed: Set[String] = shards.keysIterator.filter(isClosed).toSet

  /** The shards to begin with next, in the order of their ids. Each starts at its trim horizon: a child's first record is
    * the successor of its parents' last.
    *
    * A shard with a descendant in the offset is history. One parent left to read holds a child back, be it in the offset or not.
    */
  def entering(known: Known): Vector[String] = {
    lazy val history           = ancestors(known.keys)
    def isRead(parent: String) = known.get(parent) match {
      case Some(progress) => progress.isAtEnd
      case None           => history(parent) || gone(parent)
    }
    // What a parent has named a moment ago is new, even where listings are old.
    lazy val behind         = isBehind(known)
    def isNew(shard: Shard) = !behind || (unlisted(shard.id) && shard.parents.exists(known.contains))
    // Mostly all of them are known.
    if (known.keysIterator.count(shards.contains) == shards.size) Vector.empty
    else
      shards.values.iterator
        .filter(s => !known.contains(s.id) && !history(s.id) && s.parents.forall(isRead) && isNew(s))
        .map(_.id)
        .toVector
        .sorted
  }

  /** The finished shards that the offset no longer needs: their children are in it, or are past retention as well. */
  def retiring(known: Known): Set[String] = {
    lazy val history            = ancestors(known.keys)
    def isSucceeded(id: String) = children.get(id) match {
      case Some(ids) => ids.forall(child => known.contains(child) || history(child))
      case None      => gone(id)
    }
    known.iterator.collect {
      case (id, progress) if progress.isAtEnd && isSucceeded(id) => id
    }.toSet
  }

  /** Shards that were not read to their end and that the service has denied, so that their records are past retention: those
    * of the offset, and the parents of what enters next that never came to be in it.
    */
  def pastRetention(known: Known): Vector[String] =
    if (gone.isEmpty) Vector.empty
    else {
      val unfinished = known.iterator.collect {
        case (id, at) if !at.isAtEnd && gone(id) => id
      }
      lazy val history = ancestors(known.keys)
      val skipped      = entering(known).iterator
        .flatMap(shards(_).parents)
        .filter(parent => gone(parent) && !known.contains(parent) && !history(parent))
      (unfinished ++ skipped).toVector.distinct.sorted
    }

  /** Unknown shards that decide what is read next, about which the service is to be asked: those of the offset, unless they are at their end and
    * their children are listed, and the parents of what would enter without them.
    */
  def doubtful(known: Known): Vector[String] = if (
    known.size == shards.size && known.keysIterator.forall(shards.contains)
  )
    Vector.empty
  else {
    val ofOffset = known.iterator.collect {
      case (id, at) if isUnknown(id) && (!at.isAtEnd || !hasListedChild(id)) => id
    }
    lazy val history = ancestors(known.keys)
    def waitsFor     =
      for {
        shard  <- shards.valuesIterator if !known.contains(shard.id)
        parent <- shard.parents.iterator if isUnknown(parent) && !known.contains(parent)
        if !history(shard.id) && !history(parent)
      } yield parent
    (ofOffset ++ waitsFor).toVector.distinct.sorted
  }

  private def isUnknown(id: String) = !shards.contains(id) && !gone(id)

  /** Whether all listings may be older than a shard of the offset, so that what seems to be new may be one of its ancestors: none has the shard, though
    * its parents may have named it. One that has a child of the shard is newer than its end.
    */
  private def isBehind(known: Known) =
    known.keysIterator.exists(id => !isListed(id) && !gone(id) && !hasListedChild(id))

  private def isListed(id: String) = shards.contains(id) && !unlisted(id)

  private def hasListedChild(id: String) = children.get(id).exists(!_.forall(unlisted))

  /** Whether a finished shard is listed without its children: then the listing is older than the shard's end. The children of a
    * shard that is not listed any more are there already, or past retention as well.
    */
  def awaitsChildrenOf(id: String): Boolean = shards.contains(id) && !children.contains(id)

  /** Where a query that reads everything begins: the shards none of whose parents is kept any more. */
  def roots: Vector[String] =
    shards.values.iterator.filter(!_.parents.exists(shards.contains)).map(_.id).toVector.sorted

  /** Where a query begins that has these positions. Of a listed shard, one parent may be past retention while the other is still listed. That parent
    * counts as read, because the query was never to read it.
    */
  def begun(positions: Vector[(String, ShardPosition)]): Vector[(String, ShardPosition)] = {
    val named         = positions.iterator.map(_._1).toSet
    val pastRetention =
      for {
        shard  <- shards.valuesIterator if !unlisted(shard.id) && shard.parents.exists(shards.contains)
        parent <- shard.parents if !shards.contains(parent) && !named(parent)
      } yield parent
    positions ++ pastRetention.toVector.distinct.sorted.map(_ -> ShardPosition.ShardEnd)
  }

  /** The given shards without those all of whose parents are among them, too. */
  def eldest(ids: Vector[String]): Vector[String] = {
    val among = ids.toSet
    ids.filter(id => parentsOf(id).isEmpty || !parentsOf(id).forall(among))
  }

  /** Where a query that reads only new records begins. */
  def open: Vector[String] = shards.keysIterator.filterNot(isClosed).toVector.sorted

  /** Where a shard's hash keys begin; of one that is not listed any more, at 0. */
  def hashStart(id: String): BigInt = shards.get(id).fold(BigInt(0))(_.hashKeys.start)

  def parentsOf(id: String): Seq[String] = shards.get(id).fold(Seq.empty[String])(_.parents)

  /** Split or merged away, and so with an end. */
  def isClosed(id: String): Boolean = shards.get(id).exists(_.closed || children.contains(id))

  def has(id: String): Boolean = shards.contains(id)

  /** All listed shards, parents before children. */
  def inOrder: Vector[String] = {
    @annotation.tailrec
    def level(from: Vector[String], before: Vector[String], done: Set[String]): Vector[String] =
      if (from.isEmpty) before
      else {
        val placed = done ++ from
        val next   = from.flatMap(children.getOrElse(_, Nil)).distinct
        val ready  = next.filter(shards(_).parents.forall(p => placed(p) || !shards.contains(p)))
        level(ready.sorted, before ++ from, placed)
      }
    level(roots, Vector.empty, Set.empty)
  }

  /** Those that the shards come from, listed or not; only listed shards name their parents. */
  def ancestors(ids: Iterable[String]): Set[String] = reach(ids)(shards.get(_).fold(Seq.empty[String])(_.parents))

  /** Those that come from the shards. */
  def descendants(ids: Iterable[String]): Set[String] = reach(ids)(children.getOrElse(_, Nil))

  private def reach(ids: Iterable[String])(step: String => Seq[String]): Set[String] = {
    val seen = scala.collection.mutable.HashSet.empty[String]
    @annotation.tailrec
    def go(next: List[String]): Unit = next match {
      case Nil        => ()
      case id :: rest => go(step(id).filter(seen.add).toList ::: rest)
    }
    go(ids.toList)
    seen.toSet
  }
}

object Lineage {

  /** One stream's part of an offset: progress by shard id. */
  type Known = collection.Map[String, ShardProgress]

  def apply(shards: Iterable[Shard], gone: Set[String] = Set.empty, unlisted: Set[String] = Set.empty): Lineage =
    new Lineage(shards.iterator.map(s => s.id -> s).toMap, gone, unlisted)
}
