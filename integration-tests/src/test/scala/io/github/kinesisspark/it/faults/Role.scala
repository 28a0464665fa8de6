package io.github.kinesisspark.it.faults

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQuery

import io.github.kinesisspark.it.source.Mode

/** A query that an outage meets, at the default options: it reads a stream into text files, or writes text files into a stream. */
sealed abstract class Role(val name: String) {

  /** @param options of the connector: where the stream is
    * @param dir     for all that the query reads or writes besides
    */
  def start(spark: SparkSession, options: Map[String, String], dir: Path): StreamingQuery
}

object Role {
  final case class Source(mode: Mode) extends Role(s"$mode source") {
    override def start(spark: SparkSession, options: Map[String, String], dir: Path): StreamingQuery =
      spark.readStream
        .format("kinesis")
        .options(options + ("startingPosition" -> "TRIM_HORIZON") ++ mode.options)
        .load()
        .selectExpr("cast(data as string) as value")
        .writeStream
        .format("text")
        .option("checkpointLocation", dir.resolve("checkpoint").toString)
        .start(rows(dir).toString)
  }

  case object Sink extends Role("sink") {
    override def start(spark: SparkSession, options: Map[String, String], dir: Path): StreamingQuery =
      spark.readStream
        .text(rows(dir).toString)
        .selectExpr("value as data")
        .writeStream
        .format("kinesis")
        .options(options)
        .option("checkpointLocation", dir.resolve("checkpoint").toString)
        .start()
  }

  val all: Seq[Role] = Mode.both.map(Source(_)) :+ Sink

  /** What a source has written, and a sink reads. */
  def rows(dir: Path): Path = Files.createDirectories(dir.resolve("rows"))

  /** What a source has written, a batch that is not committed yet included. */
  def written(dir: Path): Set[String] = {
    val files = Files.list(rows(dir))
    try files.iterator.asScala.filter(_.toString.endsWith(".txt")).flatMap(Files.readAllLines(_).asScala).toSet
    finally files.close()
  }

  /** Gives a sink rows: a file that is there at once. */
  def offer(dir: Path, texts: Seq[String]): Unit = {
    val part = Files.writeString(dir.resolve(s"${texts.head}.part"), texts.mkString("\n"), UTF_8)
    Files.move(part, rows(dir).resolve(s"${texts.head}.txt")): Unit
  }
}
