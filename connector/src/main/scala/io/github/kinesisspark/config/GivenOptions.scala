package io.github.kinesisspark.config

import java.util.Locale

/** The options as the user gave them, sorted out by name: which known option each key is, for which stream, and which keys
  * are nothing we know. Values are not looked at here.
  */
private[config] object GivenOptions {

  /** A key as given and its value. */
  final case class Setting(key: String, value: String)

  /** Options are by their documented names, those of a credentials provider's class by [[Parameter]] and their own.
    *
    * @param perStream with the stream as written
    */
  final case class Sorted(
      general: Map[String, Setting],
      perStream: Seq[(String, String, Setting)],
      problems: Seq[String]
  )

  private val StreamParameterKey = """(?is)stream\.(.+)\.credentialsProvider\.(.+)""".r
  private val StreamKey          = """(?is)stream\.(.+)\.([^.]*)""".r
  private val ParameterKey       = """(?is)credentialsProvider\.(.+)""".r
  private val ConsumerKey        = """(?is)efo\.consumerArn\.(.+)""".r

  /** What the names of a class's parameters begin with. */
  val Parameter = "credentialsProvider."

  private val known: Map[String, Opt[?]] = OptionRegistry.all
    .filterNot(_.name.contains('<'))
    .flatMap(option => (option.name +: option.aliases).map(name => lower(name) -> option))
    .toMap

  /** How an option of one stream is written. */
  def keyFor(stream: String, option: String): String =
    if (option == FanOutOptions.consumerArn.name) option.replace("<stream>", stream) else s"stream.$stream.$option"

  /** How another option of the same stream, or of all, is written.
    *
    * @param key of the one
    */
  def beside(key: String, other: String): String = key match {
    case StreamParameterKey(stream, _) => keyFor(stream, other)
    case StreamKey(stream, _)          => keyFor(stream, other)
    case _                             => other
  }

  private def lower(text: String): String = text.toLowerCase(Locale.ROOT)

  /** What Spark itself puts among the options: `path` and `paths` (of `load(path)`, and of tables that a catalog gives a
    * place), names of its own with two underscores, and the options of a streaming query, which come to its sink.
    */
  private def addedBySpark(key: String, side: OptionScope): Boolean = lower(key) match {
    case "path" | "paths"      => true
    case name if ofQuery(name) => side == OptionScope.Sink
    case name                  => name.startsWith("__")
  }

  /** Those of `DataStreamWriter`; asynchronous progress tracking is in the class `AsyncProgressTrackingMicroBatchExecution` of Spark. */
  private val ofQuery = Set(
    "checkpointLocation",
    "queryName",
    "asyncProgressTrackingEnabled",
    "asyncProgressTrackingCheckpointIntervalMs",
    "_asyncProgressTrackingOverrideSinkSupportCheck"
  ).map(lower)

  private def isOf(option: Opt[?], side: OptionScope): Boolean =
    option.scope == OptionScope.Both || option.scope == side

  /** A catalog hands over a table's options with a prefix, beside properties that are its own and the user's. */
  private val TableOption = """(?is)option\.(.*)""".r

  private def withoutProperties(all: Map[String, String]): Map[String, String] = {
    val ofTable = all.collect { case (TableOption(key), value) => key -> value }
    if (ofTable.isEmpty) all else ofTable
  }

  /** The options, some of them with other values.
    *
    * @param instead the others: each replaces the option that it means, whichever of that option's names either of them has, in any case
    */
  def replaced(options: Map[String, String], instead: Map[String, String]): Map[String, String] = {
    val names = instead.keySet.map(canonical)
    withoutProperties(options).filterNot { case (key, _) => names(canonical(key)) } ++ instead
  }

  private def canonical(key: String): String = {
    def documented(option: String) = known.get(lower(option)).fold(option)(_.name)
    lower(key match {
      case StreamParameterKey(_, _)  => key
      case StreamKey(stream, option) => keyFor(stream, documented(option))
      case _                         => documented(key)
    })
  }

  /** @param side for reading or for writing */
  def sort(options: Map[String, String], side: OptionScope): Sorted = {
    val settings = withoutProperties(options).toSeq
      .collect {
        case (key, value) if value != null && !addedBySpark(key, side) => Setting(key, value.trim)
      }
      .sortBy(_.key)

    val (streamParameters, others) = settings.partitionMap {
      case g @ Setting(StreamParameterKey(stream, name), _) => Left((Parameter + name, stream, g))
      case g                                                => Right(g)
    }
    val (streamKeys, plain) = others.partitionMap {
      case g @ Setting(StreamKey(stream, option), _) => Left((stream, option, g))
      case g                                         => Right(g)
    }
    val (consumers, rest) = plain.partitionMap {
      case g @ Setting(ConsumerKey(stream), _) => Left((FanOutOptions.consumerArn.name, stream, g))
      case g                                   => Right(g)
    }
    val (parameters, single) = rest.partitionMap {
      case g @ Setting(ParameterKey(name), _) => Left(Parameter + name -> g)
      case g                                  => Right(g)
    }
    val (unknownPlain, general) =
      single.partitionMap(g => known.get(lower(g.key)).filter(isOf(_, side)).map(_.name -> g).toRight(g))
    val (wrongStream, perStream) = streamKeys.partitionMap { case (stream, option, g) =>
      known.get(lower(option)).filter(_.perStream).map(d => (d.name, stream, g)).toRight((stream, option, g))
    }

    Sorted(
      (general ++ parameters).groupMapReduce(_._1)(_._2)((first, _) => first),
      perStream ++ streamParameters ++ consumers,
      unknownPlain.map(g => unknown(g.key, side)) ++
        wrongStream.map { case (stream, option, g) => notPerStream(stream, option, g.key) } ++
        twice(general.groupMap(_._1)(_._2.key))
    )
  }

  /** One problem for each option that was given under several names or spellings. */
  def twice(keys: Map[?, Seq[String]]): Seq[String] =
    keys.values.toSeq.filter(_.size > 1).map(_.sorted).sortBy(_.head).map { several =>
      s"${several.map(k => s"'$k'").mkString(" and ")} are one option. Give it once."
    }

  private def unknown(key: String, side: OptionScope): String = lower(key) match {
    case name if known.contains(name) =>
      val hint = if (side == OptionScope.Sink) s" ${SinkOptions.SchemaOfReader}" else ""
      s"'$key' is an option of the ${known(name).scope.name}, not of the ${side.name}.$hint"
    case name if ofQuery(name) => s"'$key' is an option of the query, not of the source. Set it on writeStream."
    case name if name.startsWith("stream.") =>
      s"Unknown option '$key'. An option of one stream has the form stream.<name>.<option>, with one of $perStreamNames."
    case name if name.stripSuffix(".") == "efo.consumerarn" =>
      s"'$key' lacks the stream: write efo.consumerArn.<stream>, once for each."
    case _ =>
      val near = nearest(key, OptionRegistry.all.filter(isOf(_, side)).flatMap(d => d.name +: d.aliases))
      s"Unknown option '$key'.${near.fold("")(n => s" Did you mean '$n'?")}"
  }

  private def notPerStream(stream: String, option: String, key: String): String = known.get(lower(option)) match {
    case Some(general) => s"'$key': ${general.name} can't be set per stream. Set '${general.name}' for all of them."
    case None          =>
      val near = nearest(option, OptionRegistry.all.filter(_.perStream).map(_.name))
      s"Unknown option '$key': '$option' can't be set for one stream.${near.fold(s" These can: $perStreamNames.")(n =>
          s" Did you mean 'stream.$stream.$n'?"
        )}"
  }

  private def perStreamNames: String = OptionRegistry.all.filter(_.perStream).map(_.name).mkString(", ")

  /** The name that needs the fewest changes, if that is few enough to be what was meant. */
  def nearest(key: String, names: Seq[String]): Option[String] =
    names
      // Names of other lengths need as many changes at least; that is not worked out for keys of any length.
      .filter(name => (key.length - name.length).abs <= few(key, name))
      .map(name => name -> distance(lower(key), lower(name)))
      .minByOption(_._2)
      .collect { case (name, changes) if changes <= few(key, name) => name }

  private def few(key: String, name: String) = math.max(2, math.max(key.length, name.length) * 2 / 5)

  /** Levenshtein's distance, a neighbouring swap counted as one change ("optimal string alignment"). */
  private[config] def distance(a: String, b: String): Int = {
    val d = Array.tabulate(a.length + 1, b.length + 1)((i, j) => if (i == 0) j else if (j == 0) i else 0)
    for (i <- 1 to a.length; j <- 1 to b.length) {
      val change = d(i - 1)(j - 1) + (if (a(i - 1) == b(j - 1)) 0 else 1)
      val swap   =
        if (i > 1 && j > 1 && a(i - 1) == b(j - 2) && a(i - 2) == b(j - 1)) d(i - 2)(j - 2) + 1 else Int.MaxValue
      d(i)(j) = Seq(d(i - 1)(j) + 1, d(i)(j - 1) + 1, change, swap).min
    }
    d(a.length)(b.length)
  }
}
