package io.github.kinesisspark.it.source

import java.io.{ByteArrayOutputStream, PrintStream}
import java.net.ServerSocket
import java.nio.file.{Files, Path}
import java.util.Properties

import scala.jdk.CollectionConverters._
import scala.util.Using

import _root_.kafka.server.{KafkaConfig, KafkaRaftServer}
import _root_.kafka.tools.StorageTool
import org.apache.kafka.clients.admin.{Admin, NewTopic}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.Uuid
import org.apache.kafka.common.serialization.StringSerializer
import org.apache.kafka.common.utils.Time

/** A broker of Kafka in this JVM, with one topic.
  *
  * @param directory of its own
  */
final class KafkaBroker(directory: Path, topic: String) extends AutoCloseable {
  private val address    = freeAddress()
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
  private val server    = started()
  private val bootstrap = Map[String, AnyRef]("bootstrap.servers" -> address).asJava
  private val producer  = new KafkaProducer[String, String](bootstrap, new StringSerializer, new StringSerializer)

  createTopic()

  /** Of Spark's source. */
  def options: Map[String, String] = Map("kafka.bootstrap.servers" -> address, "subscribe" -> topic)

  def put(text: String): Unit = producer.send(new ProducerRecord(topic, text)).get(): Unit

  override def close(): Unit = {
    producer.close()
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
    require(StorageTool.execute(format, said) == 0, "the broker's directory can't be formatted")
    val properties = new Properties
    settings.foreach { case (key, value) => properties.setProperty(key, value) }
    val made = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM)
    made.startup()
    made
  }

  private def createTopic(): Unit = {
    val admin = Admin.create(bootstrap)
    try admin.createTopics(Seq(new NewTopic(topic, 2, 1.toShort)).asJava).all().get(): Unit
    finally admin.close()
  }
}
