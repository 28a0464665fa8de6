package io.github.kinesisspark.it.aws

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.scalatest.concurrent.Eventually
import software.amazon.awssdk.services.kinesis.model._

import io.github.kinesisspark.it.{KinesisService, TestRun}

/** A stream of some run, as it is found.
  *
  * @param consumers their names
  */
final case class Found(name: String, status: StreamStatus, shards: Int, consumers: Seq[String])

/** The streams of test runs in an account: lists, counts and deletes those with a prefix, and no others. */
final class OwnStreams(service: KinesisService, prefix: String) extends Eventually {
  OwnStreams.checked(prefix).left.foreach(refusal => throw new IllegalArgumentException(refusal))

  implicit override def patienceConfig: PatienceConfig =
    PatienceConfig(service.patience.atMost, service.patience.every)

  def found(): Seq[Found] = names().flatMap { name =>
    Try {
      val summary = service.call(_.describeStreamSummary(r => r.streamName(name))).streamDescriptionSummary
      Found(name, summary.streamStatus, summary.openShardCount, consumers(summary))
    } match {
      case Success(stream)                       => Some(stream)
      case Failure(_: ResourceNotFoundException) => None
      case Failure(other)                        => throw other
    }
  }

  def holding(): Holding = OwnStreams.holding(found())

  /** Deletes the streams with their consumers and returns when the service lists none of them any more, twice: a stream that
    * was created a moment ago may be missing in a list.
    *
    * @param report gets a line for each stream before it is deleted
    * @throws java.lang.IllegalStateException naming what is left, if that takes too long
    */
  def delete(report: String => Unit): Unit = {
    // Not retried: without permissions, waiting does not help.
    var reported = found().map { stream =>
      report(OwnStreams.describe(stream))
      stream.name
    }.toSet
    var empty = 0
    eventually {
      val streams = found()
      empty = if (streams.isEmpty) empty + 1 else 0
      for (stream <- streams if !reported(stream.name)) {
        reported += stream.name
        report(OwnStreams.describe(stream))
      }
      for (stream <- streams if stream.status == StreamStatus.ACTIVE)
        // Another attempt may have deleted it meanwhile.
        Try(service.call(_.deleteStream(r => r.streamName(stream.name).enforceConsumerDeletion(true)))).failed.foreach {
          case _: ResourceNotFoundException | _: ResourceInUseException => ()
          case other                                                    => throw other
        }
      if (empty < 2) throw new IllegalStateException(s"still listed: ${streams.map(_.name).mkString(", ")}")
    }
  }

  private def names(): Seq[String] = {
    @tailrec def from(last: Option[String], before: Seq[String]): Seq[String] = {
      val page = service.call(_.listStreams { r => last.foreach(r.exclusiveStartStreamName); () })
      val all  = before ++ page.streamNames.asScala
      if (page.hasMoreStreams && !page.streamNames.isEmpty) from(all.lastOption, all) else all
    }
    from(None, Nil).filter(_.startsWith(prefix))
  }

  private def consumers(summary: StreamDescriptionSummary): Seq[String] =
    if (summary.consumerCount == null || summary.consumerCount == 0) Nil
    else
      service
        .call(_.listStreamConsumers(r => r.streamARN(summary.streamARN)))
        .consumers
        .asScala
        .map(_.consumerName)
        .toSeq
}

object OwnStreams {

  /** Nobody deletes streams that no test run has created. */
  def checked(prefix: String): Either[String, String] =
    Either.cond(
      prefix.startsWith(TestRun.Mark),
      prefix,
      s"PREFIX is '$prefix'; streams of test runs begin with '${TestRun.Mark}', and no others are deleted"
    )

  def holding(streams: Seq[Found]): Holding =
    Holding(streams.map(_.shards).sum, streams.map(s => s.shards * s.consumers.size).sum)

  def describe(stream: Found): String = {
    val consumers = if (stream.consumers.isEmpty) "no consumers" else s"consumers ${stream.consumers.mkString(", ")}"
    s"Deleting stream ${stream.name} (${stream.status}, ${stream.shards} open shards, $consumers)"
  }
}
