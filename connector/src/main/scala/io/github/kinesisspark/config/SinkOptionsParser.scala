package io.github.kinesisspark.config

import io.github.kinesisspark.position.StreamArn

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._

/** Decides what the options of a sink mean together. Reads every option before it complains, so that all problems come in one
  * error.
  */
private[config] object SinkOptionsParser {
  import SinkOptions._
  import StreamRef.{streamArn, streamName}

  def parse(options: Map[String, String]): SinkOptions = {
    val sorted   = GivenOptions.sort(options, OptionScope.Sink)
    val problems = ListBuffer.from(sorted.problems)
    val parsed   = read(sorted, problems)
    if (problems.nonEmpty) throw new OptionException(problems.toSeq.distinct)
    parsed
  }

  private def read(sorted: GivenOptions.Sorted, problems: ListBuffer[String]): SinkOptions = {
    val view    = new OptionView(sorted.general, problems)
    val clients = new ClientParser(CallRetries.read(view), problems)
    val to      = stream(view, problems)
    to.foreach(clients.checkRegion(view, _))
    val ofStreams = streamSettings(sorted, problems)

    def ofName(stream: String): Map[String, GivenOptions.Setting] =
      StreamArn.parse(stream).flatMap(arn => ofStream(ofStreams, StreamRef.ByName(arn.name))).getOrElse(Map.empty)

    clients.checkRoleOptions(view, ofStreams.toSeq.map { case (stream, settings) => ofName(stream) ++ settings })
    val base   = clients.credentials(sorted.general)
    val client = clients.client(view, base)
    val own    = ofStreams.map { case (stream, settings) =>
      // Other regions, general or by name, are those of streams without an ARN.
      StreamArn
        .parse(stream)
        .foreach(arn => clients.checkRegion(new OptionView(settings, problems), StreamRef.ByArn(arn)))
      val merged = new OptionView(sorted.general ++ ofName(stream) ++ settings, problems)
      val caller = clients.credentials(settings, clients.credentials(ofName(stream), base))
      clients.checkTokenHasRole(merged, caller)
      stream -> clients.client(merged, caller)
    }
    // Rows may name other streams, which is not known here.
    if (to.fold(own.isEmpty)(ofStream(own, _).isEmpty)) clients.checkTokenHasRole(view, base)
    val packing = sizeOfAggregated(view, problems)
    SinkOptions(
      to,
      client,
      own,
      view(ordered),
      packing,
      view(badRecords),
      view(writerBufferSize),
      view(maxInFlightCalls),
      view(linger).fold(if (packing.isDefined) LingerOfAggregated else LingerOfPlain)(Linger.of)
    )
  }

  private def sizeOfAggregated(view: OptionView, problems: ListBuffer[String]): Option[Int] = {
    val packed = view(aggregate)
    val most   = view(aggregateSize)
    if (view.has(aggregateSize) && !packed)
      problems += s"'${view.key(aggregateSize)}' is given without '${aggregate.name}'. Set ${aggregate.name} to true, too."
    Option.when(packed)(most)
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

  /** A row that comes alone goes at once, nearly. Those of a stream of rows share calls. */
  private val LingerOfPlain = Linger(idle = 1.millis, busy = 10.millis)

  /** The KPL's RecordMaxBufferedTime. */
  private val LingerOfAggregated = Linger.of(100.millis)

  private def stream(view: OptionView, problems: ListBuffer[String]): Option[StreamRef] = {
    if (view.has(streamName) && view.has(streamArn))
      problems += "'streamName' and 'streamArn' are both given. Give one of them: the ARN holds the name."
    for (option <- Seq(streamName, streamArn); named <- view(option) if named.size > 1)
      problems += s"'${view.key(option)}' names ${named.size} streams. A sink's option names one; to write to several, give the rows a column targetStream."
    view(streamName).orElse(view(streamArn)).flatMap(_.headOption)
  }
}
