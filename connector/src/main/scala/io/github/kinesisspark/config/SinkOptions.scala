package io.github.kinesisspark.config

import scala.concurrent.duration._

/** What a sink was asked to do: the options, read and checked once, as values that travel to executors.
  *
  * @param stream           where rows go that don't name a stream themselves
  * @param client           for streams without options of their own
  * @param clients          for others, by their names or ARNs as given. One by ARN also has the options that are given by that stream's name
  * @param ordered          whether the records of a partition key keep the order of their rows
  * @param aggregateSize    bytes that an aggregated record may have, if rows share Kinesis records
  * @param badRecords       what becomes of rows that can never be written
  * @param bufferSize       bytes of records that a task holds, waiting or on their way
  * @param maxInFlightCalls calls of a task that have no answer yet
  * @param linger           how long a row of a streaming query waits for others
  */
final case class SinkOptions(
    stream: Option[StreamRef],
    client: ClientOptions,
    clients: Map[String, ClientOptions],
    ordered: Boolean,
    aggregateSize: Option[Int],
    badRecords: BadRecords,
    bufferSize: Long,
    maxInFlightCalls: Int,
    linger: Linger
) {
  def mapClients(f: ClientOptions => ClientOptions): SinkOptions =
    copy(client = f(client), clients = clients.map { case (stream, own) => stream -> f(own) })

  def clientOf(to: StreamRef): ClientOptions = SinkOptions.ofStream(clients, to).getOrElse(client)
}

object SinkOptions extends OptionGroup(OptionScope.Sink) {

  /** For errors of a sink: a reader that is given a schema looks to it like a writer. */
  private[kinesisspark] val SchemaOfReader = "To read, leave out schema(...): the source's columns are fixed."

  val ordered: Opt[Boolean] = option(
    "ordered",
    OptionValue.boolean,
    default = "false",
    doc =
      "Whether the records of a partition key come into the stream in the order in which a task has their rows. Of each key " +
        "one record is then under way at a time, so that few keys make few records a call."
  )

  val aggregate: Opt[Boolean] = option(
    "aggregate",
    OptionValue.boolean,
    default = "false",
    doc =
      "Whether rows for the same shard share Kinesis records, in the KPL's format. A shard takes 1,000 records a second, however " +
        "small; aggregated ones hold hundreds of rows. Readers have to take them apart, as this source and the KCL do. Needs " +
        "the permission `kinesis:ListShards`."
  )

  val aggregateSize: Opt[Int] = option(
    "aggregateSize",
    OptionValue.sizeBetween(1L << 10, "1k", 1L << 20, "1m").map(_.toInt),
    default = "50k",
    doc =
      "With `aggregate`: how large an aggregated record may become, from `1k` to `1m`. A row beyond it is a record by itself."
  )

  val badRecords: Opt[BadRecords] = option(
    "badRecords",
    OptionValue.oneOf("fail" -> BadRecords.Fail, "skip" -> BadRecords.Skip),
    default = "fail",
    doc =
      "What becomes of a row that can never be written (too large, null data, an impossible key): `fail` fails its task before " +
        "the call that it would be part of; `skip` counts it, logs samples and continues."
  )

  val writerBufferSize: Opt[Long] = option(
    "writerBufferSize",
    OptionValue.sizeAtLeast(1L << 20, "1m"),
    default = "32m",
    doc =
      "Memory for records of a task that wait or are on their way to the service, at least `1m`. While it is full, the task " +
        "computes no further rows."
  )

  val maxInFlightCalls: Opt[Int] = option(
    "maxInFlightCalls",
    OptionValue.smallCount,
    default = "8",
    doc = "How many PutRecords calls of a task may be under way at once."
  )

  val linger: Opt[Option[FiniteDuration]] = optional(
    "linger",
    OptionValue.durationAtLeast(1.millis),
    doc =
      "How long a row of a streaming query waits for others to go with it, at most. Left out, it is `1ms` while no call of its task is " +
        "under way and `10ms` while one is, or `100ms` with `aggregate`, as the KPL's. A batch write waits for full calls."
  )

  /** By the stream's ARN, or else by its name. Spark's maps may have lost the case of an option's name, so it decides only where it must. */
  private[config] def ofStream[A](byStream: Map[String, A], stream: StreamRef): Option[A] = {
    val keys = stream.arn.map(_.text).toSeq :+ stream.name
    keys
      .flatMap(byStream.get(_))
      .headOption
      .orElse(keys.flatMap(key => byStream.collectFirst { case (k, own) if k.equalsIgnoreCase(key) => own }).headOption)
  }

  /** @param options as the user gave them; names are matched case-insensitively, a null value is an option left out
    * @throws OptionException with every problem found
    */
  def parse(options: Map[String, String]): SinkOptions = SinkOptionsParser.parse(options)
}

/** How long a row waits for others to go with it, at most.
  *
  * @param idle while no call of its task is under way
  * @param busy while one is; not less
  */
final case class Linger(idle: FiniteDuration, busy: FiniteDuration)

object Linger {
  def of(both: FiniteDuration): Linger = Linger(both, both)
}

/** What becomes of rows that can never be written. */
sealed trait BadRecords extends Product with Serializable

object BadRecords {
  case object Fail extends BadRecords

  /** They are counted, and samples logged. */
  case object Skip extends BadRecords
}
