package io.github.kinesisspark.benchmarks

import java.io.{BufferedReader, InputStreamReader}
import java.net.URI

import software.amazon.awssdk.auth.credentials.{AwsBasicCredentials, StaticCredentialsProvider}
import software.amazon.awssdk.regions.Region
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import io.github.kinesisspark.testkit

/** The embedded server in a JVM of its own, so that its work is not counted as the connector's. It ends with this one.
  *
  * @param streams shards by name
  * @param flags   of its command line
  * @param heap    at most, as `-Xmx` has it
  */
final class ServerProcess(streams: Map[String, Int], flags: Seq[String] = Nil, heap: String = "1g")
    extends AutoCloseable {
  private val process = {
    val java = ProcessHandle.current.info.command.get
    val main = classOf[testkit.Main].getName
    val args = streams.toSeq.flatMap { case (name, shards) => Seq("--stream", s"$name:$shards") }
    new ProcessBuilder(
      (Seq(java, s"-Xmx$heap", "-cp", sys.props("java.class.path"), main, "--parent-pid-watch") ++ flags ++ args): _*
    ).redirectError(ProcessBuilder.Redirect.INHERIT).start()
  }

  private val said = ujson.read(new BufferedReader(new InputStreamReader(process.getInputStream)).readLine())

  val options: Map[String, String] = Map(
    "endpoint"        -> said("endpoint").str,
    "region"          -> said("region").str,
    "accessKeyId"     -> "test",
    "secretAccessKey" -> "test"
  )

  /** Of a query that reads all of a stream. */
  def source(stream: String, publisher: String): Map[String, String] = options ++ Map(
    "streamName"       -> stream,
    "startingPosition" -> "TRIM_HORIZON",
    "recordPublisher"  -> publisher,
    "efo.consumerName" -> "bench"
  )

  /** The SDK's, as it comes. */
  def client(): KinesisAsyncClient = KinesisAsyncClient.builder
    .region(Region.of(options("region")))
    .endpointOverride(URI.create(options("endpoint")))
    .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
    .build

  /** CPU time of the server so far, in seconds. */
  def cpuSeconds: Double = process.toHandle.info.totalCpuDuration.get.toNanos / 1e9

  override def close(): Unit = {
    process.destroy()
    process.waitFor(): Unit
  }
}
