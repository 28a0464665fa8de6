package io.github.kinesisspark.it.source

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

/** A broker of Kafka in this JVM.
  *
  * @param directory of its own
  */
final class KafkaBroker(directory: Path) extends AutoCloseable {
  val address: String    = freeAddress()
  private val controller = freeAddress()
  private val settings   = Map(
    "process.roles"                  -> "broker,controller",
    "node.id"                        -> "1",
    "controller.quorum.voters"       -> s"1@$controller",
    "listeners"                      -> s"PLAINTEXT://$address,CONTROLLER://$controller",
    "controller.listener.names"      -> "CONTROLLER",
    "listener.security.protocol.map" -> "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs"                       -> directory.resolve("log").toString
  )
  private val server = started()

  override def close(): Unit = {
    server.shutdown()
    server.awaitShutdown()
  }

  private def freeAddress() = Using.resource(new ServerSocket(0))(socket => s"localhost:${socket.getLocalPort}")

  private def started() = {
    val file  = directory.resolve("server.properties")
    val lines = settings.map { case (key, value) => s"$key=$value" }
    Files.write(file, lines.asJava)
    val said   = new PrintStream(new ByteArrayOutputStream)
    val format = Array("format", "--cluster-id", Uuid.randomUuid.toString, "--config", file.toString)
    require(StorageTool.execute(format, said) == 0, s"$directory can't be formatted")
    val properties = new Properties
    settings.foreach { case (key, value) => properties.setProperty(key, value) }
    val made = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM)
    made.startup()
    made
  }
}
