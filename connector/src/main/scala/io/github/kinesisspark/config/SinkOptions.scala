package io.github.kinesisspark.config

import scala.concurrent.duration.FiniteDuration

/** What a sink was asked to do: the options, read and checked once, as values that travel to executors.
  *
  * @param stream           where rows go that don't name a stream themselves
  * @param client           for streams without options of their own
  * @param clients          for others, by their names or ARNs as given
  * @param ordered          whether the records of a partition key keep the order of their rows
  * @param aggregation      how several rows share a Kinesis record, if they do
  * @param badRecords       what becomes of rows that can never be written
  * @param bufferSize       bytes of records that a task holds, waiting or on their way
  * @param maxInFlightCalls calls of a task that have no answer yet
  * @param linger           how long a row of a streaming query waits for others at most
  */
final case class SinkOptions(
    stream: Option[StreamRef],
    client: ClientOptions,
    clients: Map[String, ClientOptions],
    ordered: Boolean,
    aggregation: Option[AggregationOptions],
    badRecords: BadRecords,
    bufferSize: Long,
    maxInFlightCalls: Int,
    linger: FiniteDuration
) extends Serializable {

  /** How long one record may be refused before its task fails. */
  def maxRetryDuration: FiniteDuration = client.retries.maxDuration

  /** Spark's maps may have lost the case of an option's name, so it decides only where it must. */
  def clientOf(to: StreamRef): ClientOptions = {
    def named(same: (String, String) => Boolean): Option[ClientOptions] = clients.collectFirst {
      case (key, own) if same(key, to.name) || to.arn.exists(arn => same(key, arn.text)) => own
    }
    if (clients.isEmpty) client
    else named(_ == _).orElse(named(_.equalsIgnoreCase(_))).getOrElse(client)
  }
}

object SinkOptions {

  /** @param options as the user gave them; names are matched case-insensitively, a null value is an option left out
    * @throws OptionException with every problem found
    */
  def parse(options: Map[String, String]): SinkOptions = SinkOptionsParser.parse(options)
}

/** @param maxBytes of an aggregated record */
final case class AggregationOptions(maxBytes: Int) extends Serializable

/** What becomes of rows that can never be written. */
sealed trait BadRecords extends Product with Serializable

object BadRecords {
  case object Fail extends BadRecords

  /** They are counted, and samples logged. */
  case object Skip extends BadRecords
}
