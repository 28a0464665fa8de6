package io.github.kinesisspark.read.reader

/** What is asked of several records together, again and again: so they are looked at once.
  *
  * @param bytes   by [[KinesisRecord.size]]
  * @param oldest  arrival, in ms by the service's clock; meaningless without records, as `newest` is
  * @param newest  the latest arrival, which need not be the last record's: arrival times are approximate
  */
final case class RecordTotals private (
    records: Int,
    bytes: Long,
    private val oldest: Long,
    private val newest: Long
) {

  def heap: Long = KinesisRecord.heapOf(records, bytes)

  def oldestArrival: Option[Long] = Option.when(records > 0)(oldest)
  def newestArrival: Option[Long] = Option.when(records > 0)(newest)
}

object RecordTotals {
  def of(records: Array[KinesisRecord]): RecordTotals = of(records, 0, records.length)

  /** Of some of them.
    *
    * @param until behind the last
    */
  def of(records: Array[KinesisRecord], from: Int, until: Int): RecordTotals = {
    // A loop without boxes: it runs over every record that is read.
    var bytes  = 0L
    var oldest = Long.MaxValue
    var newest = Long.MinValue
    var i      = from
    while (i < until) {
      val record  = records(i)
      val arrival = record.arrivalMillis
      bytes += record.size
      oldest = oldest.min(arrival)
      newest = newest.max(arrival)
      i += 1
    }
    RecordTotals(until - from, bytes, oldest, newest)
  }
}
