package io.github.kinesisspark.it.soak

/** Something that must not happen to records. */
sealed trait Wrong
object Wrong {
  final case class Doubled(entry: Entry)                     extends Wrong
  final case class Reordered(entry: Entry, after: Long)      extends Wrong
  final case class Lost(key: Int, from: Long, through: Long) extends Wrong
  final case class Unwritten(key: Int, number: Long)         extends Wrong
  final case class Changed(batch: Long)                      extends Wrong
}

/** What has come of one key: the highest number, and the gaps below it. */
final case class KeyHistory(last: Long, gaps: Vector[KeyHistory.Gap]) {
  import KeyHistory._

  def take(entry: Entry): (KeyHistory, Option[Wrong]) = {
    val n = entry.number
    if (n > last) (KeyHistory(n, gaps ++ Gap.between(last, n)), None)
    else
      gaps.find(_.has(n)) match {
        case None      => (this, Some(Wrong.Doubled(entry)))
        case Some(gap) =>
          (
            copy(gaps = gaps.flatMap(g => if (g == gap) g.without(n) else Vector(g))),
            Some(Wrong.Reordered(entry, last))
          )
      }
  }

  /** What is wrong if no more comes, of as many as were written. */
  def unfinished(key: Int, written: Long): Vector[Wrong] =
    (gaps ++ Gap.between(last, written + 1)).map(g => Wrong.Lost(key, g.from, g.through)) ++
      Option.when(last > written)(Wrong.Unwritten(key, last))
}

object KeyHistory {
  val empty: KeyHistory = KeyHistory(0, Vector.empty)

  /** Numbers that did not come, both ends included. */
  final case class Gap(from: Long, through: Long) {
    def has(n: Long): Boolean         = from <= n && n <= through
    def without(n: Long): Vector[Gap] = Gap.between(from - 1, n) ++ Gap.between(n, through + 1)
  }

  object Gap {
    def between(below: Long, above: Long): Vector[Gap] =
      if (above - below > 1) Vector(Gap(below + 1, above - 1)) else Vector.empty
  }
}

/** All that has been read, as far as it takes to find what was lost, doubled or reordered within its key. It grows with the
  * keys and with what is wrong, not with the records.
  *
  * @param wrongs the first of them
  */
final case class Ledger(
    keys: Map[Int, KeyHistory],
    records: Long,
    doubled: Long,
    reordered: Long,
    wrongs: Vector[Wrong]
) {

  def take(entry: Entry): Ledger = {
    val (history, wrong) = keys.getOrElse(entry.key, KeyHistory.empty).take(entry)
    val taken            = copy(keys = keys.updated(entry.key, history), records = records + 1)
    wrong.fold(taken)(taken.note)
  }

  def note(wrong: Wrong): Ledger = {
    val noted = if (wrongs.size < Ledger.Remembered) copy(wrongs = wrongs :+ wrong) else this
    wrong match {
      case _: Wrong.Doubled   => noted.copy(doubled = doubled + 1)
      case _: Wrong.Reordered => noted.copy(reordered = reordered + 1)
      case _                  => noted
    }
  }

  /** What is wrong if no more comes.
    *
    * @param written the last number of each key
    */
  def unfinished(written: Map[Int, Long]): Vector[Wrong] =
    (keys.keySet ++ written.keySet).toVector.sorted
      .flatMap(key => keys.getOrElse(key, KeyHistory.empty).unfinished(key, written.getOrElse(key, 0L)))
}

object Ledger {
  private val Remembered = 20

  val empty: Ledger = Ledger(Map.empty, 0, 0, 0, Vector.empty)
}
