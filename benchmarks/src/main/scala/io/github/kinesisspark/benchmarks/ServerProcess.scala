package io.github.kinesisspark.benchmarks

import java.io.{BufferedReader, InputStreamReader}
import java.net.URI

import scala.io.Source

import io.github.kinesisspark.shaded.software.amazon.awssdk.auth.credentials.{
  AwsBasicCredentials,
  StaticCredentialsProvider
}
import io.github.kinesisspark.shaded.software.amazon.awssdk.http.Protocol
import io.github.kinesisspark.shaded.software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient
import io.github.kinesisspark.shaded.software.amazon.awssdk.regions.Region
import io.github.kinesisspark.shaded.software.amazon.awssdk.services.kinesis.{
  KinesisAsyncClient,
  KinesisAsyncClientBuilder
}

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
      (Seq(
        java,
        s"-Xmx$heap",
        "-cp",
        sys.props("java.class.path"),
        main,
        "--parent-pid-watch"
      ) ++ flags ++ args): _*
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

  /** The SDK's, as it comes, but for the number of streams. */
  def client(): KinesisAsyncClient =
    client(NettyNioAsyncHttpClient.builder.protocol(Protocol.HTTP2).maxConcurrency(ServerProcess.MaxConcurrency))

  /** The SDK's, with an HTTP client of its own. */
  def client(http: NettyNioAsyncHttpClient.Builder): KinesisAsyncClient =
    ServerProcess.clientOf(options).httpClientBuilder(http).build

  /** The calls so far, by action. */
  def calls: Map[String, Long] = {
    val answer = Source.fromURL(s"${options("endpoint")}/_testkit/calls")
    try
      ujson
        .read(answer.mkString)("counts")
        .arr
        .filterNot(_.obj.contains("stream"))
        .map(c => c("action").str -> c("count").num.toLong)
        .toMap
    finally answer.close()
  }

  /** CPU time of the server so far, in seconds. */
  def cpuSeconds: Double = process.toHandle.info.totalCpuDuration.get.toNanos / 1e9

  override def close(): Unit = {
    process.destroy()
    process.waitFor(): Unit
  }
}

object ServerProcess {

  /** The SDK's default of 50 is less than some benchmarks have shards. */
  private val MaxConcurrency = 1000

  /** The SDK's builder for the server that a source of these options reads from. */
  def clientOf(options: Map[String, String]): KinesisAsyncClientBuilder = KinesisAsyncClient.builder
    .region(Region.of(options("region")))
    .endpointOverride(URI.create(options("endpoint")))
    .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test")))
}
