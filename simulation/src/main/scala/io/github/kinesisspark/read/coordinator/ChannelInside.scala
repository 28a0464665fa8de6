package io.github.kinesisspark.read.coordinator

import io.github.kinesisspark.read.reader.OrderAnswer

/** The channel between driver and executors, as a simulation overhears it. */
object ChannelInside {

  /** What an executor replies to an order. */
  def answer(reply: Array[Byte]): Option[OrderAnswer] = Reply.read[OrderAnswer](reply).toOption.flatten

  /** Whether the driver says that it has made use of a report. */
  def isUsed(reply: Array[Byte]): Boolean = Reply.isUsed(reply)

  /** What a driver knows of the readers of a source that runs. */
  def known(driver: DriverRuntime, source: String, executor: String): Option[ReaderReports.Reported] =
    driver.orders.of(source).reports.now.get(executor)
}
