package io.github.kinesisspark.config

import scala.concurrent.duration.FiniteDuration

/** How much one micro-batch takes in.
  *
  * @param maxRecordsPerTrigger at most so many Kinesis records
  * @param maxBytesPerTrigger   at most so many bytes of data
  * @param minRecordsPerTrigger wait for so many records ...
  * @param maxTriggerDelay      ... but no longer than this
  * @param maxShardSkew         how far shards may run ahead of the slowest, by times of arrival; nothing for no bound
  */
final case class AdmissionOptions(
    maxRecordsPerTrigger: Option[Long],
    maxBytesPerTrigger: Option[Long],
    minRecordsPerTrigger: Option[Long],
    maxTriggerDelay: FiniteDuration,
    maxShardSkew: Option[FiniteDuration]
)

object AdmissionOptions extends OptionGroup(OptionScope.Source) {

  val maxRecordsPerTrigger: Opt[Option[Long]] = optional(
    "maxRecordsPerTrigger",
    OptionValue.count,
    doc =
      "The most Kinesis records in one micro-batch, over all shards; an aggregated record counts as one. Never more; " +
        "somewhat fewer where that spares work: a shard's part is at most about 3% short, or 25% with thousands of shards. " +
        "It takes no more than the readers hold, as nothing else is counted: see `readerBufferSize`."
  )

  val maxBytesPerTrigger: Opt[Option[Long]] = optional(
    "maxBytesPerTrigger",
    OptionValue.size,
    doc =
      "The most bytes of data in one micro-batch, over all shards, such as `256m`. A larger record makes a batch of " +
        "its own. Otherwise never more; somewhat less as with `maxRecordsPerTrigger`. It takes no more than the readers " +
        "hold, as nothing else is counted: see `readerBufferSize`."
  )

  val minRecordsPerTrigger: Opt[Option[Long]] = optional(
    "minRecordsPerTrigger",
    OptionValue.count,
    doc =
      "A micro-batch waits until so many Kinesis records are there, or `maxTriggerDelay` is over. It waits no longer where a shard's reader has no " +
        "room for more (see `readerBufferSize`), or has come to the end of a shard that was split or merged."
  )

  val maxTriggerDelay: Opt[FiniteDuration] = option(
    "maxTriggerDelay",
    OptionValue.duration,
    default = "15m",
    doc = "How long a micro-batch waits for `minRecordsPerTrigger` at most."
  )

  val maxShardSkew: Opt[Option[FiniteDuration]] = option(
    "maxShardSkew",
    OptionValue.durationOrOff,
    default = "10s",
    doc = "How far a micro-batch may go ahead in one shard of where it ends in the slowest, by the times at which records " +
      "arrived in the stream. Less than the delay of the query's watermark, it keeps a catch-up from making the slower " +
      "shards' records late. Shards that are caught up hold nobody back. The batch that takes a closed shard's end goes no further ahead of that end, as " +
      "the shard's children begin in the next. A shard that is behind and brings nothing for 30 s, or " +
      "2 s where it has no memory, is not waited for: its records may be late then, and Spark drops late rows. `off` or `0` for no such bound."
  )

  private[config] def read(view: OptionView): AdmissionOptions = {
    val read = AdmissionOptions(
      view(maxRecordsPerTrigger),
      view(maxBytesPerTrigger),
      view(minRecordsPerTrigger),
      view(maxTriggerDelay),
      view(maxShardSkew)
    )
    for (most <- read.maxRecordsPerTrigger; least <- read.minRecordsPerTrigger if least > most)
      view.report(s"'${minRecordsPerTrigger.name}' ($least) is more than '${maxRecordsPerTrigger.name}' ($most).")
    read
  }
}
