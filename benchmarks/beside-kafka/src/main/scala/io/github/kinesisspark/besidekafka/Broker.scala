package io.github.kinesisspark.besidekafka

import java.nio.file.Path

import scala.util.Using

import io.github.kinesisspark.it.source.KafkaBroker

/** A broker of Kafka in a process of its own, until its standard input ends. Says its address once it is ready.
  *
  * Argument: a directory of its own.
  */
object Broker {
  def main(args: Array[String]): Unit = {
    Using.resource(new KafkaBroker(Path.of(args(0)))) { broker =>
      println(s"""{"address":"${broker.address}"}""")
      while (System.in.read() >= 0) {}
    }
    sys.exit(0)
  }
}
