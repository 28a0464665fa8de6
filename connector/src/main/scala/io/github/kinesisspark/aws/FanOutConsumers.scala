package io.github.kinesisspark.aws

import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.duration.FiniteDuration
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.config.{
  ConsumerChoice,
  Deregistration,
  FanOutOptions,
  RegistrationTime,
  StreamOptions,
  StreamRef
}
import io.github.kinesisspark.position.{ConsumerArn, StreamArn}

/** The consumers that one query reads through: found or registered when it starts, and deregistered when it stops, as the options
  * say. Lives on the driver. Its calls block; one thread makes them.
  *
  * {{{
  * load()           FanOutConsumers.begin      eager: registered, not waited for
  * the query starts open, resolve              every consumer is ACTIVE
  * one is gone      renew                      registered again, with a new ARN
  * the query stops  release, close
  * }}}
  */
final class FanOutConsumers private (
    opened: KnownStreams,
    choices: Map[StreamRef, ConsumerChoice],
    meter: ConsumerMeter,
    claims: ConsumerClaims
) extends AutoCloseable {
  import FanOutConsumers._
  import KnownStreams.Stream

  private val log      = LoggerFactory.getLogger(classOf[FanOutConsumers])
  private var claimed  = Vector.empty[ConsumerClaims.Claim]
  private var resolved = Map.empty[StreamArn, ConsumerArn]

  /** The consumer of each stream, ACTIVE. Registers those that are to be registered and don't exist.
    *
    * @throws KinesisException `KINESIS_CONSUMER_IN_USE` where another query of this JVM reads through one of them,
    *                          `KINESIS_CONSUMER_MISMATCH` where an ARN was given that is another stream's,
    *                          `KINESIS_NOT_FOUND` where a consumer was given that isn't there, and all of [[ConsumerDirectory.ready]]
    */
  def resolve(): Map[StreamArn, ConsumerArn] = {
    opened.streams.foreach(claim)
    opened.streams.foreach(stream => resolved += stream.arn -> consumerOf(stream))
    resolved
  }

  /** After SubscribeToShard found something gone: the stream's consumer as it is now. The same ARN as before means that it
    * isn't the consumer that is gone; another means that it was deregistered by others, and is registered again.
    *
    * @throws KinesisException as [[resolve]]
    */
  def renew(stream: StreamArn): ConsumerArn = {
    val known = opened.streams
      .find(_.arn == stream)
      .getOrElse(throw new NoSuchElementException(s"$stream is not read here"))
    val before = resolved.get(stream)
    val now    = consumerOf(known)
    before.filter(_ != now).foreach { gone =>
      log.warn(s"Stream consumer $gone was deregistered by others; registered $now in its place")
      claims.forget(gone)
    }
    resolved += stream -> now
    now
  }

  /** The consumers that are to be deregistered at the query's end, by their streams. */
  def toDeregister: Map[StreamArn, ConsumerArn] = {
    val choiceOfStream = opened.streams.map(s => s.arn -> choiceOf(s)).toMap
    resolved.filter { case (stream, arn) =>
      choiceOfStream(stream) match {
        case ConsumerChoice.Registered(_, _, Deregistration.OfAll)        => true
        case ConsumerChoice.Registered(_, _, Deregistration.OfRegistered) => claims.isRegistered(arn)
        case ConsumerChoice.Registered(_, _, Deregistration.OfNone)       => false
        case ConsumerChoice.Given(_)                                      => false
      }
    }
  }

  /** Deregisters the consumers that are to be deregistered. One that can't be is logged, and stays; so does one that others have
    * registered anew since, because its ARN is another.
    */
  def release(): Unit = {
    val ended = toDeregister
    for (stream <- opened.streams; arn <- ended.get(stream.arn))
      try stream.consumers.deregister(arn)
      catch {
        case NonFatal(e) =>
          log.warn(s"Stream consumer $arn could not be deregistered and is still charged for: ${e.getMessage}")
      }
    resolved.keys.foreach(leave)
  }

  /** Leaves the stream's consumer to its other reader: it won't be deregistered from here. */
  def leave(stream: StreamArn): Unit = {
    resolved.get(stream).foreach(claims.forget)
    resolved -= stream
  }

  /** The calls so far, for metrics. */
  def calls: ConsumerCalls = meter.calls

  /** Releases its clients and claims; deregisters nothing. */
  override def close(): Unit = {
    resolved.keys.foreach(leave)
    claimed.foreach(claims.giveBack)
    claimed = Vector.empty
    opened.close()
  }

  private def choiceOf(stream: Stream): ConsumerChoice = choices(stream.ref)

  private def claim(stream: Stream): Unit = {
    val mine = ConsumerClaims.Claim(stream.endpoint, stream.arn, nameOf(choiceOf(stream)))
    if (!claimed.contains(mine)) {
      claims.take(mine)
      claimed :+= mine
    }
  }

  private def consumerOf(stream: Stream): ConsumerArn = choiceOf(stream) match {
    case ConsumerChoice.Registered(name, _, _)                 => stream.consumers.ready(stream.arn, name).arn
    case ConsumerChoice.Given(arn) if arn.stream != stream.arn =>
      throw new KinesisException(
        "KINESIS_CONSUMER_MISMATCH",
        s"'efo.consumerArn.${stream.arn.name}' is $arn, a consumer of another stream than ${stream.arn}. Give one of that stream's " +
          "consumers."
      )
    case ConsumerChoice.Given(arn) => stream.consumers.awaitActive(arn).arn
  }
}

object FanOutConsumers {

  /** Describes the streams that were given by name, and registers nothing yet.
    *
    * @throws KinesisException as [[KnownStreams.open]]
    */
  def open(streams: Seq[StreamOptions], options: FanOutOptions): FanOutConsumers =
    open(streams, options, BlockingTime.real, ConsumerClaims.shared)

  /** Registers the consumers that are wanted already at `load()`, and doesn't wait until they are ACTIVE.
    *
    * @throws KinesisException as [[KnownStreams.open]] and [[ConsumerDirectory.register]]
    */
  def begin(
      streams: Seq[StreamOptions],
      options: FanOutOptions,
      claims: ConsumerClaims = ConsumerClaims.shared
  ): Unit = {
    val names  = streams.flatMap(s => eagerName(options.consumers(s.stream)).map(s.stream -> _)).toMap
    val opened = KnownStreams.open(
      streams.filter(s => names.contains(s.stream)),
      options.tags,
      registered = claims.register
    )
    try opened.streams.foreach(stream => stream.consumers.register(stream.arn, names(stream.ref)))
    finally opened.close()
  }

  private[kinesisspark] def open(
      streams: Seq[StreamOptions],
      options: FanOutOptions,
      time: BlockingTime,
      claims: ConsumerClaims
  ): FanOutConsumers = {
    val meter = new ConsumerMeter
    val known = KnownStreams.open(streams, options.tags, time, meter, claims.register)
    new FanOutConsumers(known, options.consumers, meter, claims)
  }

  private def eagerName(choice: ConsumerChoice): Option[String] = choice match {
    case ConsumerChoice.Registered(name, RegistrationTime.Eager, _) => Some(name)
    case _                                                          => None
  }

  private def nameOf(choice: ConsumerChoice): String = choice match {
    case ConsumerChoice.Registered(name, _, _) => name
    case ConsumerChoice.Given(arn)             => arn.name
  }
}

/** Calls and waits to find, register and deregister consumers.
  *
  * @param calls        attempts of each call
  * @param waits        pauses before another attempt, or another look
  * @param waitedMillis all of them together
  */
final case class ConsumerCalls(calls: Map[AwsCall, Long], waits: Long, waitedMillis: Long) {
  private[aws] def called(action: AwsCall): ConsumerCalls =
    copy(calls = calls.updated(action, calls.getOrElse(action, 0L) + 1))

  private[aws] def waited(wait: FiniteDuration): ConsumerCalls =
    copy(waits = waits + 1, waitedMillis = waitedMillis + wait.toMillis)
}

object ConsumerCalls {
  val none: ConsumerCalls = ConsumerCalls(Map.empty, 0, 0)
}

/** Logs and counts the calls. */
private[aws] final class ConsumerMeter extends CallObserver {
  private val log   = LoggerFactory.getLogger(classOf[ConsumerMeter])
  private val count = new AtomicReference(ConsumerCalls.none)

  def calls: ConsumerCalls = count.get

  override def called(action: AwsCall): Unit = {
    log.debug("{}", action)
    count.updateAndGet(_.called(action)): Unit
  }

  override def waits(why: => String, wait: FiniteDuration): Unit = {
    if (log.isInfoEnabled) log.info(s"$why Next try in ${wait.toMillis} ms.")
    count.updateAndGet(_.waited(wait)): Unit
  }
}
