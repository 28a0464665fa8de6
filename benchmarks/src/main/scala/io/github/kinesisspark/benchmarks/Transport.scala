package io.github.kinesisspark.benchmarks

import io.github.kinesisspark.shaded.software.amazon.awssdk.http.Protocol
import io.github.kinesisspark.shaded.software.amazon.awssdk.http.nio.netty.{NettyNioAsyncHttpClient, SdkEventLoopGroup}

import io.github.kinesisspark.aws.ClientKind.Subscriptions

/** What HTTP/2's settings do to fan-out: a bare loop of SubscribeToShard with other numbers of streams of a connection, windows and event loops. */
object Transport {
  private val Shards      = 32
  private val RecordBytes = 1000
  private val Megabytes   = 800
  private val Warmup      = 2
  private val Rounds      = 3

  /** @param streams of a connection at most
    * @param window  in KiB: what the service may send of a stream before it is read
    * @param loops   threads of the event loop group
    */
  private final case class Setting(
      name: String,
      streams: Option[Long] = None,
      window: Int = Subscriptions.Window >> 10,
      loops: Option[Int] = None
  ) {
    def http: NettyNioAsyncHttpClient.Builder = {
      val builder = NettyNioAsyncHttpClient.builder
        .protocol(Protocol.HTTP2)
        .http2Configuration { h =>
          streams.foreach(n => h.maxStreams(n))
          h.initialWindowSize(window << 10): Unit
        }
      loops.foreach(n => builder.eventLoopGroupBuilder(SdkEventLoopGroup.builder.numberOfThreads(n)))
      builder
    }
  }

  private val settings =
    Seq(Setting("as_connector")) ++
      Seq(8, 16, 32).map(n => Setting(s"${n}_streams", streams = Some(n.toLong))) ++
      Seq(64, 128, 1024, 4096).map(kib => Setting(s"window_${kib}KiB", window = kib)) ++
      Seq(1, 2).map(n => Setting(s"${n}_event_loops", loops = Some(n)))

  def figures(): Seq[Figure] = {
    val server = new ServerProcess(Map(FullStream.Stream -> Shards), heap = "4g")
    try {
      val filler = server.client()
      val bytes  =
        try FullStream.fill(filler, RecordBytes, Megabytes * 1000000L)
        finally filler.close()
      def run(setting: Setting, round: Int) = {
        val client = server.client(setting.http)
        try
          FullStream.measured(server, bytes)(
            FullStream.subscribe(client, s"${setting.name}-$round", bytes)
          )
        finally client.close()
      }
      (1 to Warmup).foreach(n => run(settings.head, -n): Unit)
      val rounds = (1 to Rounds).map(n => settings.map(run(_, n)))
      settings.zip(rounds.transpose).flatMap { case (setting, runs) =>
        def figure(what: String, unit: String)(value: FullStream.Run => Double) = Figure(
          s"transport.${setting.name}.$what",
          runs.map(value),
          unit,
          None,
          s"bare loop of SubscribeToShard, $Megabytes MB in records of $RecordBytes B from $Shards shards; ${described(setting)}"
        )
        Seq(figure("throughput", "MB/s")(_.mbPerSecond), figure("cpu", "CPU s/GB")(_.cpuPerGb))
      }
    } finally server.close()
  }

  private def described(setting: Setting) = {
    val streams = setting.streams.fold("as many as the server allows")(n => s"at most $n")
    val loops   = setting.loops.fold("the SDK's number of")(_.toString)
    s"$streams streams of a connection, windows of ${setting.window} KiB, $loops event loops"
  }
}
