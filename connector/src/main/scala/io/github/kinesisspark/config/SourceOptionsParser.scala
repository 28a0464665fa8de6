package io.github.kinesisspark.config

import scala.collection.mutable.ListBuffer

import io.github.kinesisspark.position.StreamArn

/** Decides what the options mean together: which streams, with which client each, and what contradicts what. Reads every
  * option before it complains, so that all problems come in one error.
  */
private[config] object SourceOptionsParser {
  import GivenOptions.Setting
  import StreamOptions.{endingPosition, startingPosition}
  import StreamRef.{streamArn, streamName}

  def parse(options: Map[String, String]): SourceOptions = read(options)(_.sourceOptions())

  def parseConsumers(options: Map[String, String]): ConsumerOptions = read(options)(_.consumerOptions())

  def parseStreams(options: Map[String, String]): Seq[StreamOptions] = read(options)(_.eachStream())

  private def read[A](options: Map[String, String])(what: Reading => A): A = {
    val sorted   = GivenOptions.sort(options, OptionScope.Source)
    val reading  = new Reading(sorted)
    val parsed   = what(reading)
    val problems = sorted.problems ++ reading.problems.result()
    if (problems.nonEmpty) throw new OptionException(problems.distinct)
    parsed
  }

  /** One pass over the options. */
  private final class Reading(sorted: GivenOptions.Sorted) {
    val problems: ListBuffer[String] = ListBuffer.empty

    private val settings: Map[String, Setting] = sorted.general

    private val refs    = streams()
    private val ownKeys = streamKeys(refs)
    private val general = viewOf(settings)
    private val views   = refs.map(ref => ref -> viewOf(settings ++ ownKeys.getOrElse(ref, Map.empty)))
    private val clients = new ClientParser(CallRetries.read(general), problems)

    def sourceOptions(): SourceOptions = SourceOptions(
      streams = eachStream(),
      client = clients.client(general, clients.credentials(settings)),
      fanOut = new FanOutParser(general, views, problems).options(),
      failOnDataLoss = general(SourceOptions.failOnDataLoss),
      deaggregate = general(SourceOptions.deaggregate),
      admission = AdmissionOptions.read(general),
      shardDiscoveryInterval = general(SourceOptions.shardDiscoveryInterval),
      minPartitions = general(SourceOptions.minPartitions),
      reservedCores = general(SourceOptions.reservedCores),
      polling = PollingOptions.read(general),
      readerBufferSize = general(SourceOptions.readerBufferSize),
      cloudWatch = CloudWatchOptions.read(general)
    )

    def consumerOptions(): ConsumerOptions = ConsumerOptions(eachStream(), FanOutOptions.readTags(general))

    def eachStream(): Seq[StreamOptions] = {
      val base = clients.credentials(settings)
      clients.checkRoleOptions(general, ownKeys.values.toSeq)
      views.map { case (ref, view) =>
        streamOptions(ref, view, clients.credentials(ownKeys.getOrElse(ref, Map.empty), base))
      }
    }

    private def viewOf(of: Map[String, Setting]) = new OptionView(of, problems)

    private def streams(): Seq[StreamRef] = (settings.get(streamName.name), settings.get(streamArn.name)) match {
      case (Some(_), Some(_)) =>
        problems += "'streamName' and 'streamArn' are both given. Give one of them: the ARN holds the name."
        Nil
      case (None, None) =>
        problems += "No stream is given. Set 'streamName' or 'streamArn' (the path of load() is not used)."
        Nil
      case (Some(_), None) => viewOf(settings)(streamName).getOrElse(Nil)
      case (None, Some(_)) => viewOf(settings)(streamArn).getOrElse(Nil)
    }

    /** The options of each stream by themselves. Spark's maps may have lost the case of a key, so case decides only where
      * there are several streams to choose from.
      */
    private def streamKeys(refs: Seq[StreamRef]): Map[StreamRef, Map[String, Setting]] = {
      val found = sorted.perStream.flatMap { case (option, stream, g) =>
        def named(same: (String, String) => Boolean): Seq[StreamRef] =
          refs.filter(ref => same(ref.name, stream) || ref.arn.exists(arn => same(arn.text, stream)))
        val exact = named(_ == _)
        (if (exact.nonEmpty) exact else named(_.equalsIgnoreCase(_))) match {
          case Seq(ref) => Some((ref, option, g))
          case Seq()    =>
            if (refs.nonEmpty) {
              val near = GivenOptions.nearest(stream, refs.map(_.name))
              problems += s"'${g.key}': stream '$stream' is not read here." +
                near.fold(s" The streams are ${refs.mkString(", ")}.")(n =>
                  s" Did you mean '${GivenOptions.keyFor(n, option)}'?"
                )
            }
            None
          case several =>
            val write = if (several.map(_.name).distinct.size == 1) "its ARN instead of its name" else "its exact name"
            problems += s"'${g.key}': '$stream' may be ${several.mkString(" or ")}. Write $write."
            None
        }
      }
      problems ++= GivenOptions.twice(found.groupMap { case (ref, option, _) => (ref, option) }(_._3.key))
      found.groupBy(_._1).map { case (ref, keys) => ref -> keys.map { case (_, option, g) => option -> g }.toMap }
    }

    private def streamOptions(ref: StreamRef, view: OptionView, base: CredentialsOptions): StreamOptions = {
      clients.checkRegion(view, ref)
      clients.checkTokenHasRole(view, base)
      val start = positionOf(ref, view, startingPosition)
      val end   = positionOf(ref, view, endingPosition)
      checkOrder(view, start, end)
      StreamOptions(ref, clients.client(view, base), start, end)
    }

    /** One stream's part of positions by stream. */
    private def positionOf(
        ref: StreamRef,
        view: OptionView,
        option: Opt[Option[PositionValue]]
    ): Option[StartingPosition] =
      view(option).flatMap {
        case PositionValue.Same(position) => Some(position)
        case PositionValue.Each(streams)  =>
          def isFor(stream: String)(to: StreamRef) =
            stream == to.name || to.arn.map(_.text).contains(stream) ||
              (to.arn.isEmpty && StreamArn.parse(stream).exists(_.name == to.name))
          for (stranger <- streams.keys.toSeq.sorted.filterNot(s => refs.exists(isFor(s))))
            problems += s"'${view.key(option)}' has positions of stream '$stranger', which is not read here (the streams are " +
              s"${refs.mkString(", ")}). Leave them out."
          streams.keys.filter(isFor(_)(ref)).toSeq.sorted match {
            case Seq(one) => streams.get(one)
            case Seq()    =>
              problems += s"'${view.key(option)}' has no position of stream $ref. Add it, or set " +
                s"'${GivenOptions.keyFor(ref.name, option.name)}'."
              None
            case several =>
              problems += s"'${view.key(option)}' has several positions of stream $ref: ${several.mkString(", ")}. Give one."
              None
          }
      }

    private def checkOrder(view: OptionView, start: Option[StartingPosition], end: Option[StartingPosition]): Unit =
      (start, end) match {
        case (_, Some(StartingPosition.TrimHorizon)) =>
          problems += s"'${view.key(endingPosition)}' is TRIM_HORIZON: nothing comes before the oldest record. Give a later position."
        case (Some(StartingPosition.AtTimestamp(from)), Some(StartingPosition.AtTimestamp(to))) if !from.isBefore(to) =>
          problems += s"'${view.key(endingPosition)}' ($to) is not after '${view.key(startingPosition)}' ($from)."
        case _ => ()
      }
  }
}
