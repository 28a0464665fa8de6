package io.github.kinesisspark.it.faults

import java.io.{BufferedReader, IOException, InputStreamReader}
import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.{Semaphore, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}

/** A query in a JVM of its own, whose heap and settings a test decides. It ends with this JVM at the latest.
  *
  * Its program answers each line of its input with one line of JSON.
  */
final class ForkedQuery private (process: Process, log: Path) extends AutoCloseable {
  private val said = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
  private val to   = process.outputWriter(UTF_8)

  /** Where the query is now. */
  def look(): ForkedQuery.Look = ForkedQuery.Look.parse(ask("look"))

  /** The same after a garbage collection, with what is left of the heap. */
  def collected(): ForkedQuery.Look = ForkedQuery.Look.parse(ask("collect"))

  /** What the query's JVM has logged. */
  def logged: String = Files.readString(log)

  /** Batches wait from now on, until [[release]]. */
  def hold(): Unit    = ask("hold"): Unit
  def release(): Unit = ask("release"): Unit

  /** Ends the JVM as a crash does: nothing is stopped in good order. */
  def kill(): Unit = process.destroyForcibly().waitFor(): Unit

  override def close(): Unit = {
    try to.close()
    catch { case _: IOException => () } // It has ended before.
    if (!process.waitFor(60, TimeUnit.SECONDS)) process.destroyForcibly().waitFor()
    Files.deleteIfExists(log): Unit
  }

  private def ask(question: String): String = synchronized {
    try {
      to.write(question + "\n")
      to.flush()
    } catch { case e: IOException => ended(e) }
    Iterator
      .continually(said.readLine())
      .find(l => l == null || l.startsWith("{"))
      .flatMap(Option(_))
      .getOrElse(ended(null))
  }

  private def ended(cause: Throwable): Nothing = {
    process.waitFor(30, TimeUnit.SECONDS)
    val end = Files.readString(log).takeRight(3000)
    throw new AssertionError(
      s"the query's JVM ended with ${if (process.isAlive) "no status" else process.exitValue}: $end",
      cause
    )
  }
}

object ForkedQuery {

  /** @param heap      that is left after the collection, in bytes; else 0
    * @param failure   of the query, if it has ended so
    * @param metrics   of the source, by the latest progress
    * @param durations of the latest progress with rows, in ms
    */
  final case class Look(
      rows: Long,
      heap: Long,
      failure: Option[String],
      metrics: Map[String, String],
      durations: Map[String, Long]
  )

  private object Look {
    def parse(line: String): Look = {
      val json = ujson.read(line)
      Look(
        json("rows").num.toLong,
        json("heap").num.toLong,
        json("failure").strOpt,
        json("metrics").obj.view.mapValues(_.str).toMap,
        json("durations").obj.view.mapValues(_.num.toLong).toMap
      )
    }
  }

  /** Starts a query on `local[2]` that counts its rows, with the class path and module options of this JVM. The query has started when this returns: on a busy machine
    * that takes minutes.
    *
    * @param options of the source
    * @param at      the checkpoint
    * @param heap    at most, as `-Xmx` has it
    * @param jvm     further options of the JVM
    */
  def start(
      options: Map[String, String],
      at: Path = Files.createTempDirectory("checkpoint-"),
      heap: String = "512m",
      jvm: Seq[String] = Nil
  ): ForkedQuery = {
    val java    = ProcessHandle.current.info.command.get
    val opens   = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala.filter(_.startsWith("--add-opens"))
    val flags   = Seq(s"-Xmx$heap", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
    val program = Seq("-cp", sys.props("java.class.path"), ForkedQuery.getClass.getName.stripSuffix("$"))
    val log     = Files.createTempFile("forked-query-", ".log")
    val process = new ProcessBuilder(
      ((java +: opens.toSeq) ++ flags ++ jvm ++ program ++ (at.toString +: options.map { case (k, v) =>
        s"$k=$v"
      }.toSeq)): _*
    ).redirectError(log.toFile).start()
    val query = new ForkedQuery(process, log)
    query.look(): Unit
    query
  }

  def main(args: Array[String]): Unit = {
    // Answers alone go there; all logging goes to the standard error.
    val answers = System.out
    System.setOut(System.err)
    val options = args.iterator.drop(1).map(_.split("=", 2)).map(parts => parts(0) -> parts(1)).toMap
    val spark   = SparkSession
      .builder()
      .master("local[2,4]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.streaming.noDataProgressEventInterval", "1000")
      .getOrCreate()
    val rows  = new AtomicLong
    val gate  = new Semaphore(1)
    val query = spark.readStream
      .format("kinesis")
      .options(options)
      .load()
      .writeStream
      .option("checkpointLocation", args.head)
      .foreachBatch { (batch: DataFrame, _: Long) =>
        gate.acquire()
        try rows.addAndGet(batch.selectExpr("length(data)").count()): Unit
        finally gate.release()
      }
      .start()
    def answer(heap: Long): Unit = {
      val latest = query.recentProgress
      val json   = ujson.Obj(
        "rows"    -> rows.get.toDouble,
        "heap"    -> heap.toDouble,
        "failure" -> query.exception.fold[ujson.Value](ujson.Null)(e => ujson.Str(String.valueOf(e.getCause))),
        "metrics" -> latest.lastOption.fold(ujson.Obj())(p =>
          ujson.Obj.from(p.sources.head.metrics.asScala.map { case (k, v) => k -> ujson.Str(v) })
        ),
        "durations" -> latest
          .filter(_.numInputRows > 0)
          .lastOption
          .fold(ujson.Obj())(p =>
            ujson.Obj.from(p.durationMs.asScala.map { case (k, v) => k -> ujson.Num(v.toDouble) })
          )
      )
      answers.println(ujson.write(json))
    }
    val questions = new BufferedReader(new InputStreamReader(System.in, UTF_8))
    Iterator.continually(questions.readLine()).takeWhile(_ != null).foreach {
      case "collect" =>
        (1 to 3).foreach(_ => System.gc())
        answer(ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed)
      case "hold" =>
        gate.acquire()
        answer(0)
      case "release" =>
        gate.release()
        answer(0)
      case _ => answer(0)
    }
    gate.release()
    query.stop()
    spark.stop()
  }
}
