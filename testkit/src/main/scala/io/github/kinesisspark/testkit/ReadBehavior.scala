package io.github.kinesisspark.testkit

import io.github.kinesisspark.testkit.model.Quota

import scala.concurrent.duration._

/** How GetRecords and SubscribeToShard find records. The defaults are kind: a call finds the next records wherever they
  * lie, and 0 behind always means the tip.
  *
  * @param scanSpan how much of a shard's time one call scans. A call that finds nothing in it answers with no records,
  *   with MillisBehindLatest above 0 and with an iterator that lies that much further on; so does an event of a
  *   subscription. An idle shard's lag shrinks from call to call until it is 0. Unlimited if absent. It should be longer
  *   than the pause between two calls, or a reader never arrives at the tip
  * @param emptyHistory how much time without records lies before the position of a new iterator or subscription that
  *   does not begin at LATEST, within retention. So young streams have empty answers too
  * @param scanRecords how many records one GetRecords scans, and so answers with, whatever its Limit
  * @param arrivalsBackBy up to how much earlier than the truth a record's ApproximateArrivalTimestamp is; the seed of
  *   the server decides. So arrival times go back from record to record, while sequence numbers grow
  * @see [[https://docs.aws.amazon.com/streams/latest/dev/troubleshooting-consumers.html#getrecords-returns-empty GetRecords returns an empty records array even when there is data in the stream]]
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_GetRecords.html GetRecords]]
  * @see [[https://docs.aws.amazon.com/kinesis/latest/APIReference/API_Record.html Record]]: the arrival time's accuracy is not guaranteed
  */
final case class ReadBehavior(
    scanSpan: Option[FiniteDuration] = None,
    emptyHistory: FiniteDuration = Duration.Zero,
    scanRecords: Int = Quota.GetRecordsMaxRecords,
    arrivalsBackBy: FiniteDuration = Duration.Zero
) {
  require(scanSpan.forall(_.toMillis > 0), s"scanSpan is $scanSpan and must be a millisecond at least")
  require(scanRecords > 0, s"scanRecords is $scanRecords and must be 1 at least")
}

object ReadBehavior {

  /** As the service reads. How large its spans are, it does not say. */
  val realistic: ReadBehavior =
    ReadBehavior(Some(1.minute), emptyHistory = 90.seconds, scanRecords = 2000, arrivalsBackBy = 2.seconds)
}
