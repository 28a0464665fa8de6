package io.github.kinesisspark.read.stream

import io.github.kinesisspark.position.{KinesisOffset, OffsetJson, StreamArn}

/** One batch in a query's offset log, as Spark writes it: a line with the format's version, a line with the batch's own settings, then a
  * line for each source. Version 1 has the sources in the order in which the query has them, version 2 has `<name>:<offset>`.
  *
  * @param sources the sources of this connector by name, in the order of the file; a source of version 1 has its number as
  *                name, from 0, as one has in version 2 that the query gives no name
  */
final case class OffsetLogFile(version: String, sources: Vector[(String, KinesisOffset)]) {

  /** The offset of the same source in the batch before, by name. In the first batch of version 2 a source may have a name that has a number in the batch
    * before: there it is the source with one of the same streams.
    *
    * @return none where the query got the source in this batch; or what is wrong
    */
  def before(name: String, earlier: OffsetLogFile): Either[String, Option[KinesisOffset]] = {
    val streams   = sources.collect { case (`name`, offset) => offset.streams.keys }.flatten.toSet[StreamArn]
    val sharing   = earlier.sources.filter(_._2.streams.keys.exists(streams))
    val isRenamed = version != earlier.version && sharing.nonEmpty
    earlier.sources.collectFirst { case (`name`, offset) => offset } match {
      case None if !isRenamed        => Right(None)
      case None if sharing.size == 1 => Right(Some(sharing.head._2))
      case None  => Left("names for several sources of one stream, which have numbers in the batch before")
      case found => Right(found)
    }
  }
}

object OffsetLogFile {

  // Spark 4.2 writes the second where sources have names, or a setting asks for it.
  private val Numbered = "v1"
  private val Named    = "v2"

  /** @return or what is wrong with it */
  def read(text: String): Either[String, OffsetLogFile] = {
    val lines   = text.linesIterator.toVector
    val version = lines.headOption.fold("")(_.trim)
    val named   = version match {
      case Numbered => Right(lines.drop(2).zipWithIndex.map { case (line, number) => number.toString -> line })
      case Named    => Right(lines.drop(2).map(_.span(_ != ':')).map { case (name, rest) => name -> rest.drop(1) })
      case other => Left(s"an offset log of version '$other'; this version of the connector reads $Numbered and $Named")
    }
    named.map(found =>
      OffsetLogFile(version, found.collect { case (name, json) if isOurs(json) => name -> OffsetJson.read(json) })
    )
  }

  /** Other connectors have offsets of their own, and a source without data has none. */
  private def isOurs(offset: String): Boolean = offset.startsWith("{\"version\":") && offset.contains("\"streams\":")
}
