package io.github.kinesisspark.position

import scala.util.control.NonFatal

/** The offset's text in Spark's offset log.
  *
  * {{{
  * {"version":1,"streams":{"arn:aws:kinesis:...":{"created":1700000000000,"completeTo":1700000500000,"retentionHours":24,"shards":{
  *    "shardId-000000000000":"4959...",                                   read up to this record
  *    "shardId-000000000001":{"from":"TRIM_HORIZON","to":"4959..."}}}}}   begins in this batch, at "from"
  * }}}
  *
  * Where several shards begin at the same position, it is said once, which keeps the first offset of ten
  * thousand shards small:
  *
  * {{{
  * {... "from":"TRIM_HORIZON","shards":{"shardId-000000000001":["4959..."],"shardId-000000000002":["4960..."]}}
  * }}}
  *
  * A real-time batch that ended where it began, and did not find that all was read, adds `"idle":1`, the next one `"idle":2`.
  *
  * A later version is refused, never guessed at: reading it wrongly would lose or repeat records.
  */
object OffsetJson {
  val Version = 1

  def write(offset: KinesisOffset): String = {
    val streams = offset.streams.toSeq.sortBy(_._1.text).map { case (arn, stream) =>
      val common   = commonEntry(stream)
      val shards   = stream.shards.toSeq.map { case (id, progress) => id -> writeProgress(progress, common) }
      val complete = stream.completeTo.toSeq.flatMap { to =>
        ("completeTo" -> ujson.Num(to.millis.toDouble)) +:
          to.retentionHours.map(hours => "retentionHours" -> ujson.Num(hours.toDouble)).toSeq
      }
      val from = common.map(at => "from" -> ujson.Str(ShardPosition.encode(at)))
      arn.text -> ujson.Obj.from(
        Seq("created" -> ujson.Num(stream.createdMillis.toDouble)) ++ complete ++ from ++ Seq(
          "shards" -> ujson.Obj.from(shards)
        )
      )
    }
    val idle = Option.when(offset.idle > 0)("idle" -> ujson.Num(offset.idle.toDouble))
    ujson.write(
      ujson.Obj.from(Seq("version" -> ujson.Num(Version.toDouble)) ++ idle ++ Seq("streams" -> ujson.Obj.from(streams)))
    )
  }

  /** @throws OffsetException where the text is no offset of ours, of a later version, or damaged */
  def read(json: String): KinesisOffset = {
    val root =
      try ujson.read(json).obj
      catch { case NonFatal(_) => throw foreign(json) }
    root.get("version") match {
      case Some(ujson.Num(Version))                  => readStreams(root)
      case Some(ujson.Num(later)) if later > Version =>
        throw new OffsetException(
          s"The Kinesis offset has version ${later.toLong}, which a later release has written, and this release reads versions up to $Version: use " +
            "that release, or copies of the checkpoint and of the sink's output from before the upgrade."
        )
      case _ => throw foreign(json)
    }
  }

  /** Where several shards of the stream begin, if any do. */
  private def commonEntry(stream: StreamOffset): Option[ShardPosition] = {
    val entries = stream.shards.valuesIterator.flatMap(_.firstPosition).toVector
    entries.headOption.filter(first => entries.count(_ == first) > 1)
  }

  private def writeProgress(progress: ShardProgress, common: Option[ShardPosition]): ujson.Value = {
    val to = ShardPosition.encode(progress.position)
    progress.firstPosition match {
      case None                                => to
      case Some(from) if common.contains(from) => ujson.Arr(to)
      case Some(from)                          => ujson.Obj("from" -> ShardPosition.encode(from), "to" -> to)
    }
  }

  private def readStreams(root: collection.Map[String, ujson.Value]): KinesisOffset =
    try
      KinesisOffset(
        root("streams").obj.map { case (arn, stream) =>
          val common = stream.obj.get("from").map(from => position("from", from.str))
          val shards = stream("shards").obj.map { case (id, progress) => id -> readProgress(id, progress, common) }
          StreamArn(arn) -> StreamOffset(stream("created").num.toLong, shards)
            .copy(completeTo = number(stream, "completeTo").map(CompleteTo(_, number(stream, "retentionHours"))))
        }.toMap,
        root.get("idle").fold(0)(_.num.toInt)
      )
    catch {
      case e: OffsetException => throw e
      case NonFatal(e)        =>
        throw new OffsetException(
          s"The checkpoint's Kinesis offset is damaged: ${e.getMessage}. Restore the checkpoint's offset log from a copy, " +
            s"or ${OffsetException.NewCheckpoint}."
        )
    }

  private def number(stream: ujson.Value, name: String) = stream.obj.get(name).map(_.num.toLong)

  private def readProgress(id: String, value: ujson.Value, common: Option[ShardPosition]): ShardProgress = value match {
    case ujson.Str(to)                    => ShardProgress(position(id, to))
    case ujson.Arr(collection.Seq(begun)) => ShardProgress(position(id, begun.str), Some(common.getOrElse(missing(id))))
    case entering => ShardProgress(position(id, entering("to").str), Some(position(id, entering("from").str)))
  }

  private def missing(id: String) = throw new IllegalArgumentException(s"$id: where it began ('from') is missing")

  private def position(id: String, text: String): ShardPosition =
    ShardPosition.decode(text).fold(why => throw new IllegalArgumentException(s"$id: $why"), identity)

  private def foreign(json: String) = new OffsetException(
    s"The checkpoint holds an offset that is not of this connector: ${json.take(120)}. It was made by another source; " +
      s"set startingPosition to where this query is to begin, and ${OffsetException.NewCheckpoint}."
  )
}
