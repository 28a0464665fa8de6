package io.github.kinesisspark.benchmarks.latency

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.{APPEND, CREATE}
import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.SparkSession

/** How long records were on their way, by `System.nanoTime`: on Linux all processes of a machine have one clock. One measurement at a time.
  *
  * What arrives in executors of a cluster lies in a file of each, because a task of a real-time batch reports nothing to the driver before it ends.
  */
object Samples {
  private val here                                = new ConcurrentLinkedQueue[Sample]
  @volatile private var ofExecutors: Option[Path] = None

  /** Of this executor, by directory. */
  private val files = TrieMap.empty[String, FileChannel]

  private final case class Sample(put: Long, took: Long)

  private val SampleBytes = 16

  /** Forgets all. Tasks of a query note by the recorder what has arrived. */
  def begin(spark: SparkSession): Recorder = {
    here.clear()
    ofExecutors = Option.unless(spark.sparkContext.isLocal)(Files.createTempDirectory("samples"))
    new Recorder(ofExecutors.map(_.toString))
  }

  final class Recorder private[Samples] (directory: Option[String]) extends Serializable {

    /** @param put when the call that put the record began */
    def arrived(put: Long): Unit = directory.fold(Samples.arrived(put))(write(_, taken(put)))
  }

  /** In this JVM. */
  def arrived(put: Long): Unit = here.add(taken(put)): Unit

  /** Of records put in a span of time. */
  def between(from: Long, until: Long): Quantiles = Quantiles(
    (here.asScala.iterator ++ ofExecutors.iterator.flatMap(written))
      .filter(s => s.put - from >= 0 && s.put - until < 0)
      .map(_.took / 1e6)
      .toArray
      .sorted
  )

  private def taken(put: Long) = Sample(put, System.nanoTime() - put)

  private def write(directory: String, sample: Sample): Unit = {
    def open = FileChannel.open(Path.of(directory, ProcessHandle.current.pid.toString), CREATE, APPEND)
    files
      .getOrElseUpdate(directory, open)
      .write(ByteBuffer.allocate(SampleBytes).putLong(sample.put).putLong(sample.took).flip()): Unit
  }

  private def written(directory: Path): Vector[Sample] = Using.resource(Files.list(directory)) { list =>
    list.iterator.asScala.toVector.flatMap { file =>
      val bytes = ByteBuffer.wrap(Files.readAllBytes(file))
      Vector.fill(bytes.remaining / SampleBytes)(Sample(bytes.getLong, bytes.getLong))
    }
  }
}

/** @param sorted in ms */
final case class Quantiles(sorted: Array[Double]) {
  def count: Int = sorted.length

  /** @param share from 0 to 1 */
  def at(share: Double): Double =
    if (sorted.isEmpty) Double.NaN else sorted(math.min(sorted.length - 1, (share * sorted.length).toInt))
}
