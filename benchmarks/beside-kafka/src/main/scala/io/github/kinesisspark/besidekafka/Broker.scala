package io.github.kinesisspark.besidekafka

import java.io.{ByteArrayOutputStream, PrintStream}
import java.net.ServerSocket
import java.nio.file.{Files, Path}
import java.util.Properties

import scala.jdk.CollectionConverters._
import scala.util.Using

import _root_.kafka.server.{KafkaConfig, KafkaRaftServer}
import _root_.kafka.tools.StorageTool
import org.apache.kafka.common.Uuid
import org.apache.kafka.common.utils.Time

/** A broker of Kafka in a process of its own, until its standard input ends. Says its address once it is ready. A record's timestamp is when it came.
  *
  * Argument: a directory of its own.
  */
object Broker {
  def main(args: Array[String]): Unit = {
    val directory  = Path.of(args(0))
    val address    = freeAddress()
    val controller = freeAddress()
    val settings   = Map(
      "process.roles"                            -> "broker,controller",
      "node.id"                                  -> "1",
      "controller.quorum.voters"                 -> s"1@$controller",
      "listeners"                                -> s"PLAINTEXT://$address,CONTROLLER://$controller",
      "controller.listener.names"                -> "CONTROLLER",
      "listener.security.protocol.map"           -> "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
      "log.dirs"                                 -> directory.resolve("log").toString,
      "log.message.timestamp.type"               -> "LogAppendTime",
      "offsets.topic.replication.factor"         -> "1",
      "transaction.state.log.replication.factor" -> "1",
      "transaction.state.log.min.isr"            -> "1"
    )
    val file = directory.resolve("server.properties")
    Files.write(file, settings.map { case (key, value) => s"$key=$value" }.asJava)
    val format = Array("format", "--cluster-id", Uuid.randomUuid.toString, "--config", file.toString)
    require(
      StorageTool.execute(format, new PrintStream(new ByteArrayOutputStream)) == 0,
      s"$directory can't be formatted"
    )
    val properties = new Properties
    settings.foreach { case (key, value) => properties.setProperty(key, value) }
    val server = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM)
    server.startup()
    println(s"""{"address":"$address"}""")
    while (System.in.read() >= 0) {}
    sys.exit(0)
  }

  private def freeAddress() = Using.resource(new ServerSocket(0))(socket => s"localhost:${socket.getLocalPort}")
}
