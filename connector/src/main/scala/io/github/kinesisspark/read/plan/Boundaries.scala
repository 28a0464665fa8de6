package io.github.kinesisspark.read.plan

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}

import io.github.kinesisspark.position.SequenceNumber

/** A record that a batch can end with.
  *
  * @param last    that record
  * @param records from the beginning up to it
  * @param bytes   of data and keys, from the beginning up to it
  * @param newest  the latest arrival from the beginning up to it, in ms by the service's clock
  * @param oldest  when the first record after the boundary before it arrived
  */
final case class Boundary(last: SequenceNumber, records: Long, bytes: Long, newest: Long, oldest: Long)

/** How far boundaries lie apart. Each is at most so far from the one before as they need to be for what is cut by them.
  *
  * @param precision  a cut by records or bytes takes less than its limit by one part in so many at most; 0 if nothing is cut by them
  * @param spanMillis the times of arrival between two boundaries; nothing if nothing is cut by time
  */
final case class BoundarySpacing(precision: Int, spanMillis: Option[Long])

object BoundarySpacing {

  /** Nothing is cut. */
  val none: BoundarySpacing = BoundarySpacing(0, None)

  /** What is cut by time ends before the time by less than the span. Then the other shards are ahead of it by so much, which is less than the skew.
    *
    * @param isLimited  by records or bytes
    * @param parts      tasks among which records are shared
    * @param skewMillis how far shards may run ahead of each other
    * @param shards     whose boundaries the driver keeps
    */
  def of(isLimited: Boolean, parts: Int, skewMillis: Option[Long], shards: Int): BoundarySpacing = {
    val most  = (MostInAll / shards.max(1)).max(LeastPrecision)
    val limit = if (isLimited) LimitPrecision.min(most) else 0
    val split = if (parts > 1) (2 * parts).min(most) else 0
    BoundarySpacing(limit.max(split), skewMillis.map(_ / 2))
  }

  private val LimitPrecision = 32
  private val LeastPrecision = 4
  private val MostInAll      = 16000
}

/** The boundaries of what follows a position, by which the driver cuts a batch alone. They lie further apart the further they are from the
  * beginning, so that there are few however many records there are. The first record has one of its own. Immutable.
  *
  * @param closed these stay
  * @param open   the last one, which more records may join
  */
final case class Boundaries private (spacing: BoundarySpacing, closed: Vector[Boundary], open: Option[Boundary]) {

  lazy val all: Vector[Boundary] = open.fold(closed)(closed :+ _)

  /** How many of them are within; those that are come first. */
  def countWhile(isWithin: Boundary => Boolean): Int = Boundaries.firstWhere(0, all.size)(i => !isWithin(all(i)))

  /** With what follows.
    *
    * @param from  first of them in `records`
    * @param until behind the last of them
    */
  def add(records: Boundaries.Records, from: Int, until: Int): Boundaries =
    if (from >= until) this
    else {
      val done  = Vector.newBuilder[Boundary]
      var block = new Boundaries.Block(spacing, closed.lastOption, open)
      var next  = block.take(records, from, until)
      // A number is made of a boundary's record alone, and not of each.
      def boundary = block.endingWith(if (next > from) records.sequenceNumber(next - 1) else open.get.last)
      while (next < until) {
        val full = boundary
        done += full
        block = new Boundaries.Block(spacing, Some(full), None)
        next = block.take(records, next, until)
      }
      Boundaries(spacing, closed ++ done.result(), Some(boundary))
    }

  // Of many shards there are hundreds of thousands.
  private def writeReplace(): AnyRef = Boundaries.Written(spacing, Boundaries.write(all))
}

object Boundaries {

  /** Records in a row, in the form in which they are held. */
  trait Records {
    def sequenceNumber(i: Int): SequenceNumber
    def arrivalMillis(i: Int): Long

    /** Of data and key, in bytes. */
    def size(i: Int): Long
  }

  def none(spacing: BoundarySpacing): Boundaries = Boundaries(spacing, Vector.empty, None)

  /** The first number for which it holds, as it does for all after it; `until` where it holds for none. */
  def firstWhere(from: Int, until: Int)(holds: Int => Boolean): Int = {
    var low  = from
    var high = until
    while (low < high) {
      val middle = (low + high) >>> 1
      if (holds(middle)) high = middle else low = middle + 1
    }
    low
  }

  /** The records between two boundaries, while more are added.
    *
    * @param before the boundary that it follows
    * @param open   its records so far, if it has any
    */
  private final class Block(spacing: BoundarySpacing, before: Option[Boundary], open: Option[Boundary]) {
    private val recordsBefore = before.fold(0L)(_.records)
    private val bytesBefore   = before.fold(0L)(_.bytes)
    private val most          = if (before.isEmpty) 1L else part(recordsBefore)
    private val large         = if (before.isEmpty) Long.MaxValue else part(bytesBefore)
    private val span          = spacing.spanMillis.getOrElse(Long.MaxValue)

    private val soFar   = open.orElse(before)
    private var records = soFar.fold(0L)(_.records)
    private var bytes   = soFar.fold(0L)(_.bytes)
    private var newest  = soFar.fold(Long.MinValue)(_.newest)
    private var oldest  = open.fold(Long.MinValue)(_.oldest)

    /** Takes records until the block is full. The loop is small and makes no objects: the JVM compiles it while a query begins.
      *
      * @return the first that it has no room for; `until` where it took them all
      */
    def take(held: Records, from: Int, until: Int): Int = {
      var i = from
      while (i < until && hasRoom(held.arrivalMillis(i))) {
        val arrival = held.arrivalMillis(i)
        if (isEmpty) oldest = arrival
        records += 1
        bytes += held.size(i)
        newest = newest.max(arrival)
        i += 1
      }
      i
    }

    def endingWith(last: SequenceNumber): Boundary = Boundary(last, records, bytes, newest, oldest)

    private def hasRoom(arrival: Long) =
      isEmpty || (records - recordsBefore < most && bytes - bytesBefore < large && arrival - oldest <= span)

    private def isEmpty = records == recordsBefore

    private def part(of: Long) = if (spacing.precision > 0) (of / spacing.precision).max(1L) else Long.MaxValue
  }

  private final case class Written(spacing: BoundarySpacing, bytes: Array[Byte]) {
    private def readResolve(): AnyRef = Boundaries(spacing, read(bytes), None)
  }

  private def write(boundaries: Vector[Boundary]): Array[Byte] = {
    val bytes = new ByteArrayOutputStream(boundaries.size * 64)
    val out   = new DataOutputStream(bytes)
    var last  = ""
    out.writeInt(boundaries.size)
    boundaries.foreach { b =>
      val text = b.last.text
      val same = sharedPrefix(last, text)
      out.writeByte(same)
      out.writeUTF(text.substring(same))
      out.writeLong(b.records)
      out.writeLong(b.bytes)
      out.writeLong(b.newest)
      out.writeLong(b.oldest)
      last = text
    }
    bytes.toByteArray
  }

  private def read(bytes: Array[Byte]): Vector[Boundary] = {
    val in   = new DataInputStream(new ByteArrayInputStream(bytes))
    var last = ""
    Vector.fill(in.readInt()) {
      last = last.substring(0, in.readUnsignedByte()) + in.readUTF()
      Boundary(SequenceNumber(last), in.readLong(), in.readLong(), in.readLong(), in.readLong())
    }
  }

  private def sharedPrefix(one: String, other: String) = {
    val most = one.length.min(other.length)
    var same = 0
    while (same < most && one.charAt(same) == other.charAt(same)) same += 1
    same
  }
}
