package io.github.kinesisspark.read.reader

import org.apache.spark.{SparkConf, SparkContext}

import io.github.kinesisspark.config.SourceOptions

/** What the readers of one executor may hold, in bytes. */
object ReaderMemory {

  def of(options: SourceOptions, sc: SparkContext): Long =
    options.readerBufferSize.getOrElse(
      default(
        if (sc.isLocal) Runtime.getRuntime.maxMemory else heapOfExecutors(sc.getConf)
      )
    )

  /** A number without a unit is in MiB. */
  private[read] def heapOfExecutors(conf: SparkConf): Long =
    conf.getSizeAsMb("spark.executor.memory", SparkDefault) << 20

  /** Half of what Spark leaves to others: it keeps 300 MiB to itself, and takes 60% of the rest for caches and shuffles. The other half is for
    * what tasks make of records, and what the SDK leaves behind when it decodes them: with a quarter of a heap of 1 GB the collector took a
    * third of the CPU in a catch-up.
    *
    * @see [[https://spark.apache.org/docs/latest/tuning.html#memory-management-overview Memory management in Spark]]
    */
  private[read] def default(heap: Long): Long = ((heap - Reserved) / 5).max(Least)

  private val Reserved = 300L << 20

  /** As the option has it. */
  private val Least = 16L << 20

  /** @see [[https://spark.apache.org/docs/latest/configuration.html#application-properties spark.executor.memory]] */
  private val SparkDefault = "1g"
}
