package io.github.kinesisspark.aws

import java.net.URI
import java.util.concurrent.ConcurrentHashMap

import io.github.kinesisspark.position.{ConsumerArn, StreamArn}

import scala.jdk.CollectionConverters._

/** The consumers that queries of this driver read through, and those that they have registered.
  *
  * Two queries on one consumer would take each shard from one another again and again; those of one driver are kept apart here, before
  * that happens. Thread-safe.
  */
private[kinesisspark] final class ConsumerClaims {
  import ConsumerClaims._

  private val claimed = ConcurrentHashMap.newKeySet[Claim]

  /** Registered by `load()`, or by a query that still reads through them. */
  private val registered = ConcurrentHashMap.newKeySet[ConsumerArn]

  /** @throws KinesisException `KINESIS_CONSUMER_IN_USE` */
  def take(claim: Claim): Unit = if (!claimed.add(claim))
    throw new KinesisException(
      InUse,
      s"Another query of this application reads stream ${claim.stream} through its consumer ${claim.name}. A consumer serves one query: give " +
        "this one another, by efo.consumerName (or efo.consumerArn.<stream>).",
      reason = FailureReason.ConsumerTaken
    )

  def isTaken(claim: Claim): Boolean = claimed.contains(claim)

  /** Whether it is taken by any way to its stream: one endpoint may be given in one place, and found in another. */
  def isTakenAnywhere(stream: StreamArn, name: String): Boolean =
    claimed.asScala.exists(claim => claim.stream == stream && claim.name == name)

  def giveBack(claim: Claim): Unit = claimed.remove(claim): Unit

  def register(arn: ConsumerArn): Unit        = registered.add(arn): Unit
  def isRegistered(arn: ConsumerArn): Boolean = registered.contains(arn)
  def forget(arn: ConsumerArn): Unit          = registered.remove(arn): Unit
}

private[kinesisspark] object ConsumerClaims {

  /** The error class of a second query on one consumer. */
  val InUse = "KINESIS_CONSUMER_IN_USE"

  /** @param endpoint instead of AWS's own */
  final case class Claim(endpoint: Option[URI], stream: StreamArn, name: String)
}
