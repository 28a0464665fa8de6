package io.github.kinesisspark.read.reader

import org.apache.spark.SparkContext

import io.github.kinesisspark.config.SourceOptions

/** What the readers of one executor may hold, in bytes. */
object ReaderMemory {

  def of(options: SourceOptions, sc: SparkContext): Long =
    options.readerBufferSize.getOrElse(
      default(
        if (sc.isLocal) Runtime.getRuntime.maxMemory
        else sc.getConf.getSizeAsBytes("spark.executor.memory", SparkDefault)
      )
    )

  /** Spark itself takes 60% of the heap for caches and shuffles. What tasks make of records, and what the SDK leaves behind when it decodes
    * them, comes on top: with a quarter of a heap of 1 GB the collector took a third of the CPU in a catch-up.
    */
  private[read] def default(heap: Long): Long = (heap / 8).max(Least)

  /** As the option has it. */
  private val Least = 16L << 20

  /** @see [[https://spark.apache.org/docs/latest/configuration.html#application-properties spark.executor.memory]] */
  private val SparkDefault = "1g"
}
