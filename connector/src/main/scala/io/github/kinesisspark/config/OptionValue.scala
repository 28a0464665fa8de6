package io.github.kinesisspark.config

import java.net.{URI, URISyntaxException}
import java.util.Locale

import io.github.kinesisspark.position.{ConsumerArn, StreamArn}

import scala.concurrent.duration.{FiniteDuration, MILLISECONDS}

/** A kind of values.
  *
  * @param name  as the reference has it: string, list, map, boolean, count, number, size, duration, enum, position, uri, arn, class
  * @param words the texts that it takes, where it takes only certain words
  * @param least the text of the least value, if there is one
  * @param most  of the greatest
  */
final case class OptionKind[A](
    name: String,
    parse: OptionValue.Parser[A],
    words: Seq[String] = Nil,
    least: Option[String] = None,
    most: Option[String] = None
) {
  def apply(text: String): Either[String, A] = parse(text)

  def map[B](change: A => B): OptionKind[B] = copy(parse = parse(_).map(change))

  private[config] def within(least: String, most: Option[String], must: String)(fits: A => Boolean): OptionKind[A] =
    copy(parse = parse(_).filterOrElse(fits, must), least = Some(least), most = most)
}

/** How an option's text becomes a value. Pure, one function per kind of value. What a value must be continues the words "must be".
  */
object OptionValue {

  /** Left: what the value must be. It never repeats the value, because that may be a secret. */
  type Parser[A] = String => Either[String, A]

  val text: OptionKind[String] =
    OptionKind("string", value => Either.cond(value.nonEmpty, value, "a text that isn't empty"))

  val secret: OptionKind[Secret] = text.map(new Secret(_))

  def matching(pattern: String, meaning: String, kind: String = "string"): OptionKind[String] = {
    val form = pattern.r
    OptionKind(kind, value => Either.cond(form.matches(value), value, meaning))
  }

  val boolean: OptionKind[Boolean] = OptionKind(
    "boolean",
    _.toLowerCase(Locale.ROOT).toBooleanOption.toRight("true or false"),
    words = Seq("true", "false")
  )

  /** One of certain words, whatever their case. */
  def oneOf[A](words: (String, A)*): OptionKind[A] = {
    val known = words.map { case (word, meaning) => word.toLowerCase(Locale.ROOT) -> meaning }.toMap
    val all   = words.map(_._1)
    OptionKind("enum", value => known.get(value.toLowerCase(Locale.ROOT)).toRight(s"one of ${all.mkString(", ")}"), all)
  }

  /** Comma-separated, each item parsed by itself; spaces around items don't count. */
  def list[A](item: Parser[A], key: A => Any): OptionKind[Seq[A]] = OptionKind("list", parseList(item, key, _))

  private def parseList[A](item: Parser[A], key: A => Any, value: String): Either[String, Seq[A]] = {
    val items = value.split(",", -1).toSeq.map(_.trim)
    if (items.exists(_.isEmpty)) Left("a comma-separated list without empty items")
    else
      items
        .map(text => item(text).left.map(why => s"a comma-separated list; each item $why"))
        .partitionMap(identity) match {
        case (why +: _, _) => Left(why)
        case (_, parsed)   =>
          parsed.groupBy(key).collectFirst { case (name, several) if several.size > 1 => name } match {
            case Some(name) => Left(s"a list without duplicates; '$name' is in it more than once")
            case None       => Right(parsed)
          }
      }
  }

  /** Tags as AWS takes them: `key=value`, comma-separated; a value may be empty.
    *
    * @see [[https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html#tag-conventions the rules for tags]]
    */
  def tags(most: Int): OptionKind[Map[String, String]] = OptionKind("map", parseTags(most, _))

  private def parseTags(most: Int, value: String): Either[String, Map[String, String]] = {
    val pairs = value.split(",", -1).toSeq.map(_.split("=", 2).map(_.trim)).map {
      case Array(key, text) if isTag(key, text) => Some(key -> text)
      case _                                    => None
    }
    if (pairs.contains(None))
      Left(
        "tags of the form key=value, comma-separated, of letters, digits, spaces and _.:/=+-@, none of which begins with aws:"
      )
    else {
      val found = pairs.flatten
      if (found.map(_._1).distinct.size < found.size) Left("tags with different keys")
      else Either.cond(found.size <= most, found.toMap, s"at most $most tags")
    }
  }

  private def isTag(key: String, value: String) =
    TagKey.matches(key) && TagText.matches(value) && !key.toLowerCase(Locale.ROOT).startsWith("aws:")

  private val TagKey  = """[\p{L}\p{N}\p{Z}_.:/+\-@]{1,128}""".r
  private val TagText = """[\p{L}\p{N}\p{Z}_.:/=+\-@]{0,256}""".r

  /** A whole number of one or more. */
  val count: OptionKind[Long] =
    OptionKind(
      "count",
      _.toLongOption.filter(_ > 0).toRight("a whole number greater than 0"),
      least = Some("1"),
      most = Some(Long.MaxValue.toString)
    )

  /** One or more, as far as an Int goes. */
  val smallCount: OptionKind[Int] =
    count.within("1", Some(Int.MaxValue.toString), s"at most ${Int.MaxValue}")(_ <= Int.MaxValue).map(_.toInt)

  def countUpTo(most: Int): OptionKind[Int] =
    smallCount.within("1", Some(most.toString), s"a whole number from 1 to $most")(_ <= most)

  /** A whole number of none or more. */
  val countOrZero: OptionKind[Int] =
    OptionKind(
      "count",
      _.toIntOption.filter(_ >= 0).toRight(s"a whole number, 0 or more, and at most ${Int.MaxValue}"),
      least = Some("0"),
      most = Some(Int.MaxValue.toString)
    )

  private val DecimalForm = """\d+(\.\d+)?""".r

  def numberAtLeast(minimum: Double): OptionKind[Double] = OptionKind(
    "number",
    value =>
      Option
        .when(DecimalForm.matches(value))(value.toDouble)
        .filter(n => n >= minimum && !n.isInfinite)
        .toRight(s"a number of at least $minimum"),
    least = Some(minimum.toString)
  )

  private val SizeForm                     = """(\d+)\s*([a-z]*)""".r
  private val SizeUnits: Map[String, Long] =
    Seq("k", "m", "g", "t").zipWithIndex.flatMap { case (letter, power) =>
      Seq(letter, s"${letter}b", s"${letter}ib").map(_ -> (1L << (10 * (power + 1))))
    }.toMap ++ Map("" -> 1L, "b" -> 1L)

  /** A number of bytes, of 1 or more: a plain number, or with k, m, g, t (powers of 1024, as Spark reads them). */
  val size: OptionKind[Long] = OptionKind("size", parseSize, least = Some("1"))

  private def parseSize(value: String): Either[String, Long] = {
    val bytes = value.toLowerCase(Locale.ROOT) match {
      case SizeForm(number, unit) =>
        for (n <- number.toLongOption; u <- SizeUnits.get(unit); b <- times(n, u) if b > 0) yield b
      case _ => None
    }
    bytes.toRight("a size greater than 0 such as 67108864, 64m or 1g")
  }

  def sizeAtLeast(minimum: Long, minimumText: String): OptionKind[Long] =
    size.within(minimumText, None, s"at least $minimumText")(_ >= minimum)

  def sizeBetween(least: Long, leastText: String, most: Long, mostText: String): OptionKind[Long] =
    size.within(leastText, Some(mostText), s"from $leastText to $mostText")(n => least <= n && n <= most)

  private val DurationForm                     = """(?:\d+\s*[a-z]+\s*)+""".r
  private val DurationPart                     = """(\d+)\s*([a-z]+)""".r
  private val DurationUnits: Map[String, Long] = Seq(
    Seq("ms", "millisecond", "milliseconds") -> 1L,
    Seq("s", "sec", "second", "seconds")     -> 1000L,
    Seq("m", "min", "minute", "minutes")     -> 60000L,
    Seq("h", "hr", "hour", "hours")          -> 3600000L,
    Seq("d", "day", "days")                  -> 86400000L
  ).flatMap { case (names, millis) => names.map(_ -> millis) }.toMap

  /** A span of time as Spark's triggers write it (`10 seconds`, `1 hour 30 minutes`), short (`15m`), or plain
    * milliseconds (`500`).
    */
  val duration: OptionKind[FiniteDuration] = OptionKind("duration", parseDuration)

  private def parseDuration(value: String): Either[String, FiniteDuration] = {
    val lower = value.toLowerCase(Locale.ROOT)
    val parts = lower match {
      case number if number.nonEmpty && number.forall(_.isDigit) => Seq(number.toLongOption)
      case DurationForm()                                        =>
        DurationPart
          .findAllMatchIn(lower)
          .map(part =>
            for (n <- part.group(1).toLongOption; u <- DurationUnits.get(part.group(2)); ms <- times(n, u)) yield ms
          )
          .toSeq
      case _ => Seq(None)
    }
    val millis = parts.reduce((a, b) => for (x <- a; y <- b; sum <- plus(x, y)) yield sum)
    millis
      .filter(_ <= MaxMillis)
      .map(FiniteDuration(_, MILLISECONDS))
      .toRight("a time such as 10 seconds, 15m or 500 (ms)")
  }

  def durationAtLeast(minimum: FiniteDuration): OptionKind[FiniteDuration] =
    duration.within(textOf(minimum), None, s"a time of at least $minimum, such as 10 seconds, 15m or 500 (ms)")(
      _ >= minimum
    )

  def durationBetween(least: FiniteDuration, most: FiniteDuration): OptionKind[FiniteDuration] =
    duration.within(
      textOf(least),
      Some(textOf(most)),
      s"a time from ${least.toCoarsest} to ${most.toCoarsest}, such as 30 minutes or 2h"
    )(time => least <= time && time <= most)

  /** No time at all, or `off`, for what is not to be done. */
  val durationOrOff: OptionKind[Option[FiniteDuration]] = OptionKind(
    "duration",
    value =>
      if (value.equalsIgnoreCase("off")) Right(None)
      else
        parseDuration(value).map(time => Option.when(time.length > 0)(time)).left.map(other => s"$other, or off"),
    least = Some("0ms")
  )

  private def textOf(time: FiniteDuration) = s"${time.toMillis}ms"

  // What a FiniteDuration can hold: 2^63 ns.
  private val MaxMillis = Long.MaxValue / 1000000

  private def times(a: Long, b: Long): Option[Long] = BigInt(a) * b match {
    case p => Option.when(p.isValidLong)(p.toLong)
  }
  private def plus(a: Long, b: Long): Option[Long] = BigInt(a) + b match {
    case p => Option.when(p.isValidLong)(p.toLong)
  }

  /** An HTTP(S) address of a server without path, query or user: requests are signed for host and port. */
  val endpoint: OptionKind[URI] = OptionKind("uri", parseEndpoint)

  private def parseEndpoint(value: String): Either[String, URI] = {
    val uri =
      try Some(new URI(value))
      catch { case _: URISyntaxException => None }
    val hasUnderscore = uri.exists(u => u.getHost == null && Option(u.getAuthority).exists(_.contains('_')))
    if (hasUnderscore)
      Left(
        "a URL whose host has no underscore, because no host's name has one. Call the server by another name, or by its address"
      )
    else serverOf(uri)
  }

  private def serverOf(uri: Option[URI]): Either[String, URI] =
    uri
      .filter(u => Option(u.getScheme).exists(s => s.equalsIgnoreCase("http") || s.equalsIgnoreCase("https")))
      .filter(u => u.getHost != null && u.getUserInfo == null && u.getQuery == null && u.getFragment == null)
      .filter(u => u.getPort != 0 && u.getPort <= 65535)
      .filter(u => Option(u.getPath).forall(p => p.isEmpty || p == "/"))
      .map(u => new URI(u.getScheme.toLowerCase(Locale.ROOT), null, u.getHost, u.getPort, null, null, null))
      .toRight(
        "a URL of scheme and host, with a port if need be, such as https://kinesis.eu-west-1.amazonaws.com or http://localhost:4567"
      )

  val region: OptionKind[String] =
    matching("[a-z]{2,}(-[a-z0-9]+)*-[0-9]+", "the name of an AWS region such as eu-west-1")

  val roleArn: OptionKind[String] = matching(
    "arn:[a-z0-9-]+:iam::[0-9]{12}:role/[\\x21-\\x7E]{1,576}",
    "the ARN of a role of the form arn:aws:iam::<account>:role/<name>",
    kind = "arn"
  )

  val externalId: OptionKind[String] =
    matching("[\\w+=,.@:/-]{2,1224}", "2 to 1224 letters, digits and characters of _+=,.@:/-")

  /** The ARN of a role; its external ID may follow after a space. */
  val chainedRole: Parser[ChainedRole] = _.split(" +", 2) match {
    case Array(arn, id) =>
      for (role <- roleArn(arn); external <- externalId(id)) yield ChainedRole(role, Some(external))
    case words => roleArn(words.head).map(ChainedRole(_, None))
  }

  /** A host's name, or `*.` with the end of one. */
  val host: Parser[String] = value =>
    Either.cond(HostForm.matches(value), value, "must be a host's name, or *. with the end of one")

  private val HostForm = """(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[?[0-9a-fA-F:]+\]?""".r

  val streamName: Parser[StreamRef] = value =>
    Either.cond(
      StreamName.matches(value),
      StreamRef.ByName(value),
      "must be 1 to 128 letters, digits, dots, hyphens and underscores (for ARNs the option is streamArn)"
    )

  val streamArn: Parser[StreamRef] = value =>
    StreamArn
      .parse(value)
      .map(StreamRef.ByArn(_))
      .toRight("must have the form arn:aws:kinesis:<region>:<account>:stream/<name>")

  private val StreamName = "[A-Za-z0-9_.-]{1,128}".r

  val consumerArn: OptionKind[ConsumerArn] = OptionKind(
    "arn",
    ConsumerArn
      .parse(_)
      .toRight(
        "the ARN of a stream consumer, of the form arn:aws:kinesis:<region>:<account>:stream/<name>/consumer/<consumer>:<time>"
      )
  )
}
