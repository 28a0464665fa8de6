package io.github.kinesisspark.read.stream

import io.github.kinesisspark.read.reader.ReaderConfig

/** What a simulation needs of a stream that Spark doesn't. */
object StreamInside {
  def config(stream: KinesisStream): ReaderConfig = stream.source.readers.configOfTasks
}
