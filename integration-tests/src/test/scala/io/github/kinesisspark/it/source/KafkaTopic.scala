package io.github.kinesisspark.it.source

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.{Admin, NewTopic}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.serialization.StringSerializer

/** A new topic of a broker, and who writes to it. */
final class KafkaTopic(broker: KafkaBroker, name: String, partitions: Int) extends AutoCloseable {
  private val bootstrap = Map[String, AnyRef]("bootstrap.servers" -> broker.address).asJava

  Using.resource(Admin.create(bootstrap)) { admin =>
    admin.createTopics(Seq(new NewTopic(name, partitions, 1.toShort)).asJava).all().get()
  }: Unit

  private val producer = new KafkaProducer[String, String](bootstrap, new StringSerializer, new StringSerializer)

  /** Of Spark's source. */
  def options: Map[String, String] = Map("kafka.bootstrap.servers" -> broker.address, "subscribe" -> name)

  def put(text: String): Unit = producer.send(new ProducerRecord(name, text)).get(): Unit

  override def close(): Unit = producer.close()
}
