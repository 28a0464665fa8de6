package io.github.kinesisspark

import java.util

import io.github.kinesisspark.aws.StreamConsumer

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

/** [[StreamConsumers]] for callers in another language: options as a Java map, consumers as a JSON array of
  * `{streamArn, name, arn, status, createdMillis}`.
  */
object StreamConsumersJson {
  private type Options = util.Map[String, String]

  def register(options: Options, name: String): String    = json(of(options).register(name))
  def awaitActive(options: Options, name: String): String = json(of(options).awaitActive(name))
  def describe(options: Options, name: String): String    = json(of(options).describe(name))
  def list(options: Options): String                      = json(of(options).list())
  def deregister(options: Options, name: String): String  = json(of(options).deregister(name))

  def listOld(options: Options, prefix: String, millis: Long): String =
    json(of(options).listOld(prefix, millis.millis))
  def deregisterOld(options: Options, prefix: String, millis: Long): String =
    json(of(options).deregisterOld(prefix, millis.millis))

  private def of(options: Options) = new StreamConsumers(options.asScala.toMap)

  private def json(consumers: Seq[StreamConsumer]): String =
    ujson.write(ujson.Arr.from(consumers.map { consumer =>
      ujson.Obj(
        "streamArn"     -> consumer.arn.stream.text,
        "name"          -> consumer.name,
        "arn"           -> consumer.arn.text,
        "status"        -> consumer.status.text,
        "createdMillis" -> ujson.Num(consumer.createdMillis.toDouble)
      )
    }))
}
