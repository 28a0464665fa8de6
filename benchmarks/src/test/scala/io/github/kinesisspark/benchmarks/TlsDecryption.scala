package io.github.kinesisspark.benchmarks

import java.io.FileInputStream
import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.security.{KeyStore, Security}
import javax.net.ssl.KeyManagerFactory

import io.github.kinesisspark.shaded.io.netty.buffer.{ByteBuf, ByteBufAllocator, Unpooled}
import io.github.kinesisspark.shaded.io.netty.channel.embedded.EmbeddedChannel
import io.github.kinesisspark.shaded.io.netty.handler.ssl.util.InsecureTrustManagerFactory
import io.github.kinesisspark.shaded.io.netty.handler.ssl.{OpenSsl, SslContextBuilder, SslHandler, SslProvider}
import io.github.kinesisspark.shaded.io.netty.util.ReferenceCountUtil

/** CPU time of decrypting what arrives over TLS, by the JDK and by Netty's native provider, whichever are there: a client's end of a connection takes
  * records that the other end has encrypted, without a network. The JDK takes its ciphers from its first security provider, which
  * a setting of the JVM can change. One JSON line for each.
  *
  * Not with the other benchmarks, whose Netty has another package name, by which it doesn't find its natives. Here it is Spark's.
  *
  * {{{ ./sbt -C benchmarks "Test/runMain io.github.kinesisspark.benchmarks.TlsDecryption 500" }}}: MB for each, after as many to warm up
  */
object TlsDecryption {
  private val Each     = 256 << 10
  private val Protocol = "TLSv1.3"

  def main(args: Array[String]): Unit = {
    val report    = new Report(this, args.toSeq)
    val megabytes = args.headOption.fold(500)(_.toInt)
    val providers = SslProvider.JDK +: (if (OpenSsl.isAvailable) Seq(SslProvider.OPENSSL) else Nil)
    val keys      = serverKeys()
    for (provider <- providers) {
      decrypt(provider, keys, megabytes): Unit
      val (cipher, seconds) = decrypt(provider, keys, megabytes)
      report.print(
        ujson.Obj(
          "benchmark"    -> "tlsDecryption",
          "provider"     -> provider.name,
          "security"     -> Security.getProviders.head.getName,
          "cipher"       -> cipher,
          "cpu_s_per_gb" -> Figure.rounded(seconds / (megabytes / 1e3))
        )
      )
    }
  }

  /** The cipher, and the seconds of CPU. */
  private def decrypt(provider: SslProvider, keys: KeyManagerFactory, megabytes: Int): (String, Double) = {
    val server = SslContextBuilder.forServer(keys).sslProvider(SslProvider.JDK).protocols(Protocol).build
    val client = SslContextBuilder.forClient
      .sslProvider(provider)
      .protocols(Protocol)
      .trustManager(InsecureTrustManagerFactory.INSTANCE)
      .build
    val (sending, receiving) =
      (
        new EmbeddedChannel(server.newHandler(ByteBufAllocator.DEFAULT)),
        new EmbeddedChannel(client.newHandler(ByteBufAllocator.DEFAULT))
      )
    while (!isOver(sending) || !isOver(receiving)) {
      move(receiving, sending)
      move(sending, receiving)
    }
    val threads = ManagementFactory.getThreadMXBean
    var nanos   = 0L
    for (_ <- 0L until megabytes * 1000000L / Each) {
      sending.writeOutbound(Unpooled.wrappedBuffer(new Array[Byte](Each))): Unit
      val records = Iterator.continually(sending.readOutbound[ByteBuf]()).takeWhile(_ != null).toArray[AnyRef]
      val began   = threads.getCurrentThreadCpuTime
      receiving.writeInbound(records: _*): Unit
      nanos += threads.getCurrentThreadCpuTime - began
      drop(receiving)
    }
    val cipher = receiving.pipeline.get(classOf[SslHandler]).engine.getSession.getCipherSuite
    (cipher, nanos / 1e9)
  }

  private def isOver(channel: EmbeddedChannel) =
    channel.pipeline.get(classOf[SslHandler]).handshakeFuture.isDone

  private def move(from: EmbeddedChannel, to: EmbeddedChannel): Unit = {
    from.runPendingTasks()
    to.writeInbound(Iterator.continually(from.readOutbound[ByteBuf]()).takeWhile(_ != null).toArray[AnyRef]: _*): Unit
  }

  private def drop(channel: EmbeddedChannel): Unit =
    Iterator
      .continually(channel.readInbound[AnyRef]())
      .takeWhile(_ != null)
      .foreach(ReferenceCountUtil.release(_): Unit)

  private def serverKeys(): KeyManagerFactory = {
    val file     = Files.createTempDirectory("tls").resolve("keys.p12")
    val password = "password"
    val keytool  = Path.of(sys.props("java.home"), "bin", "keytool").toString
    val command  = Seq("-genkeypair", "-alias", "server", "-keyalg", "RSA", "-dname", "CN=localhost", "-keystore")
    val made     =
      new ProcessBuilder((keytool +: command) ++ Seq(file.toString, "-storepass", password): _*).inheritIO().start()
    require(made.waitFor() == 0, "keytool failed")
    val store = KeyStore.getInstance("PKCS12")
    val in    = new FileInputStream(file.toFile)
    try store.load(in, password.toCharArray)
    finally in.close()
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(store, password.toCharArray)
    keys
  }
}
