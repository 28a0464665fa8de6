package io.github.kinesisspark.config

import io.github.kinesisspark.position.StreamArn

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

/** Decides what the options of a sink mean together. Reads every option before it complains, so that all problems come in one
  * error.
  */
private[config] object SinkOptionsParser {
  import OptionRegistry._

  def parse(options: Map[String, String]): SinkOptions = {
    val sorted   = GivenOptions.sort(options, OptionScope.Sink)
    val problems = ListBuffer.from(sorted.problems)
    val parsed   = read(sorted, problems)
    parsed.filter(_ => problems.isEmpty).getOrElse(throw new OptionException(problems.toSeq.distinct))
  }

  private def read(sorted: GivenOptions.Sorted, problems: ListBuffer[String]): Option[SinkOptions] = {
    val view    = new OptionView(sorted.general, problems)
    val clients = new ClientParser(CallRetries.read(view, problems), problems)
    val to      = stream(view, problems)
    to.foreach(clients.checkRegion(view, _))
    val ofStreams = streamSettings(sorted, problems)
    clients.checkRoleOptions(view, ofStreams.values.toSeq)
    val base   = clients.credentials(sorted.general)
    val client = clients.client(view, base)
    val own    = ofStreams.flatMap { case (stream, settings) =>
      // The general region is that of streams without an ARN.
      StreamArn
        .parse(stream)
        .foreach(arn => clients.checkRegion(new OptionView(settings, problems), StreamRef.ByArn(arn)))
      clients
        .client(new OptionView(sorted.general ++ settings, problems), clients.credentials(settings, base))
        .map(stream -> _)
    }
    val keep   = view.value(ordered)
    val packed = view.value(aggregate)
    val most   = view.value(aggregateSize)
    if (view.has(aggregateSize) && packed.contains(false))
      problems += s"'${view.key(aggregateSize)}' is given without '${aggregate.name}'. Set ${aggregate.name} to true, too."
    val bad    = view.value(badRecords)
    val buffer = view.value(writerBufferSize)
    val calls  = view.value(maxInFlightCalls)
    val wait   = view.value(linger)
    def usual  = if (packed.contains(true)) LingerOfAggregated else LingerOfPlain
    for (c <- client; o <- keep; a <- packed; m <- most; b <- bad; size <- buffer; n <- calls)
      yield SinkOptions(to, c, own, o, Option.when(a)(AggregationOptions(m)), b, size, n, wait.getOrElse(usual))
  }

  /** The settings of single streams, by the stream as written. Rows may name any stream, so there is no list to compare with. */
  private def streamSettings(
      sorted: GivenOptions.Sorted,
      problems: ListBuffer[String]
  ): Map[String, Map[String, GivenOptions.Setting]] = {
    val (here, reading) = sorted.perStream.partition { case (option, _, _) =>
      option.startsWith(GivenOptions.Parameter) ||
      OptionRegistry.all.exists(d => d.name == option && d.scope == OptionScope.Both)
    }
    problems ++= reading.map { case (_, _, setting) => s"'${setting.key}' is for reading. Leave it out." }
    problems ++= GivenOptions.twice(here.groupMap { case (option, stream, _) => (option, stream) }(_._3.key))
    here.groupBy(_._2).map { case (stream, keys) => stream -> keys.map { case (option, _, s) => option -> s }.toMap }
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
