package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

/** Decides what the options of a sink mean together. Reads every option before it complains, so that all problems come in one
  * error.
  */
private[config] object SinkOptionsParser {
  import KinesisOptions._

  def parse(options: Map[String, String]): SinkOptions = {
    val sorted   = GivenOptions.sort(options, OptionScope.Sink)
    val problems = ListBuffer.from(sorted.problems)
    val view     = new OptionView(sorted.general, problems)
    val parsed   = read(view, problems)
    problems ++= sorted.perStream.map { case (_, _, setting) =>
      s"'${setting.key}' is for reading: a sink has the same options for all its streams. A stream's ARN names its region."
    }
    parsed.filter(_ => problems.isEmpty).getOrElse(throw new OptionException(problems.toSeq.distinct))
  }

  private def read(view: OptionView, problems: ListBuffer[String]): Option[SinkOptions] = {
    val clients = new ClientParser(problems)
    val to      = stream(view, problems)
    to.foreach(clients.checkRegion(view, _))
    for (option <- Seq(externalId, roleSessionName) if view.has(option) && !view.has(roleArn))
      problems += s"'${view.key(option)}' is given without '${roleArn.name}'. Give the role to assume, too."
    val client = clients.client(view, clients.credentials(view))
    val keep   = view.value(ordered)
    val packed = view.value(aggregate)
    val most   = view.value(aggregateSize)
    if (view.has(aggregateSize) && packed.contains(false))
      problems += s"'${view.key(aggregateSize)}' is given without '${aggregate.name}'. Set ${aggregate.name} to true, too."
    val bad    = view.value(badRecords)
    val retry  = view.value(maxRetryDuration)
    val buffer = view.value(writerBufferSize)
    val calls  = view.value(maxInFlightCalls)
    val wait   = view.value(linger)
    def usual  = if (packed.contains(true)) LingerOfAggregated else LingerOfPlain
    for (c <- client; o <- keep; a <- packed; m <- most; b <- bad; r <- retry; size <- buffer; n <- calls)
      yield SinkOptions(to, c, o, Option.when(a)(AggregationOptions(m)), b, r, size, n, wait.getOrElse(usual))
  }

  private val LingerOfPlain = 10.millis

  /** The KPL's RecordMaxBufferedTime. */
  private val LingerOfAggregated = 100.millis

  private def stream(view: OptionView, problems: ListBuffer[String]): Option[StreamRef] = {
    if (view.has(streamName) && view.has(streamArn))
      problems += "'streamName' and 'streamArn' are both given. Give one of them: the ARN holds the name."
    for (option <- Seq(streamName, streamArn); named <- view.value(option) if named.size > 1)
      problems += s"'${view.key(option)}' names ${named.size} streams. A sink's option names one; to write to several, give the rows a column targetStream."
    view.value(streamName).orElse(view.value(streamArn)).flatMap(_.headOption)
  }
}
