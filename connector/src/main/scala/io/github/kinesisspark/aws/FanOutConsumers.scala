package io.github.kinesisspark.aws

import java.util.concurrent.ConcurrentHashMap
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

/** The consumers that one query reads through: found or registered when it starts, and deregistered when it stops, as [[ConsumerEnd]]
  * decides. Lives on the driver. Its calls block; one thread makes them.
  *
  * {{{
  * load()           FanOutConsumers.begin      eager: registered, not waited for
  * the query starts open, resolve              every consumer is ACTIVE
  * one is gone      renew                      registered again, with a new ARN
  * the query stops  release, close
  * }}}
  *
  * @param registered consumers that were registered from here, also those that nobody waited for until they were ACTIVE
  */
final class FanOutConsumers private (
    opened: KnownStreams,
    choices: Map[StreamRef, ConsumerChoice],
    query: Option[ConsumerOwner.Query],
    meter: ConsumerMeter,
    claims: ConsumerClaims,
    registered: ConcurrentHashMap.KeySetView[ConsumerArn, java.lang.Boolean]
) extends AutoCloseable {
  import FanOutConsumers._
  import KnownStreams.Stream

  private val log      = LoggerFactory.getLogger(classOf[FanOutConsumers])
  private var claimed  = Vector.empty[ConsumerClaims.Claim]
  private var resolved = Map.empty[StreamArn, ConsumerArn]
  private var left     = Set.empty[StreamArn]

  /** The ACTIVE consumer of each stream, which no other query of this JVM reads through from now on. Registers consumers that don't exist, where the
    * options want that.
    *
    * @throws KinesisException `KINESIS_CONSUMER_IN_USE` where another query of this JVM reads through one of them, and as [[find]]
    */
  def resolve(): Map[StreamArn, ConsumerArn] = {
    opened.streams.foreach(claim)
    find()
  }

  /** The consumers as [[resolve]] finds them. Other queries may read through them, too.
    *
    * @throws KinesisException `KINESIS_CONSUMER_MISMATCH` where an ARN was given that is another stream's,
    *                          `KINESIS_NOT_FOUND` where a consumer was given that isn't there, and all of [[ConsumerDirectory.ready]]
    */
  def find(): Map[StreamArn, ConsumerArn] = {
    opened.streams.foreach(stream => resolved += stream.arn -> consumerOf(stream))
    resolved
  }

  /** Streams of which a query of this JVM reads through the consumer. */
  def taken: Seq[StreamArn] = opened.streams.filter(stream => claims.isTaken(claimOf(stream))).map(_.arn)

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
    // Whatever ends this may leave another one, which is to be looked for then.
    resolved -= stream
    val now = consumerOf(known)
    before.filter(_ != now).foreach { gone =>
      log.warn(s"Stream consumer $gone was deregistered by others; registered $now in its place")
      claims.forget(gone)
    }
    resolved += stream -> now
    now
  }

  /** Consumers that a batch read leaves registered, where a query would deregister them at its end. */
  def leftBehind: Iterable[ConsumerArn] = for {
    stream <- opened.streams
    arn    <- resolved.get(stream.arn)
    if endOf(stream, claims.isRegistered(arn)) == ConsumerEnd.Deregister
  } yield arn

  /** Deregisters the consumers that are to be deregistered, also those that [[resolve]] hadn't come to when it was interrupted or failed. One
    * that can't be is logged, and stays; so does one that others have registered anew since, because its ARN is another.
    */
  def release(): Unit = {
    for (stream <- opened.streams if !left(stream.arn) && hasClaim(stream)) end(stream)
    resolved.keys.foreach(forget)
  }

  /** Leaves the stream's consumer to its other reader: it won't be deregistered from here. Neither will be consumers of the other streams that were
    * there already: the other reader may be another driver of this query, which reads through all of them.
    */
  def leave(stream: StreamArn): Unit = {
    left += stream
    forget(stream)
  }

  def calls: ConsumerCalls = meter.calls

  /** Releases its clients and claims; deregisters nothing. */
  override def close(): Unit = {
    resolved.keys.foreach(forget)
    registered.forEach(claims.forget(_))
    claimed.foreach(claims.giveBack)
    claimed = Vector.empty
    opened.close()
  }

  private def choiceOf(stream: Stream): ConsumerChoice = choices(stream.ref)

  private def claimOf(stream: Stream) = ConsumerClaims.Claim(stream.endpoint, stream.arn, nameOf(choiceOf(stream)))

  private def claim(stream: Stream): Unit = {
    val own = claimOf(stream)
    if (!claimed.contains(own)) {
      claims.take(own)
      claimed :+= own
    }
  }

  /** Not for a consumer of another query of this JVM. */
  private def hasClaim(stream: Stream): Boolean =
    try {
      claim(stream)
      true
    } catch { case e: KinesisException if e.errorClass == ConsumerClaims.InUse => false }

  private def forget(stream: StreamArn): Unit = {
    resolved.get(stream).foreach(claims.forget)
    resolved -= stream
  }

  private def endOf(stream: Stream, isRegisteredHere: Boolean): ConsumerEnd =
    ConsumerEnd.of(choiceOf(stream), isRegisteredHere, query, hasRival = left.nonEmpty)

  private def end(stream: Stream): Unit =
    for (arn <- registeredAtEnd(stream) if isToEnd(stream, arn))
      warning(s"Stream consumer $arn could not be deregistered and is still charged for") {
        stream.consumers.deregisterAtStop(arn)
      }

  /** The stream's consumer, if it may be one to deregister. */
  private def registeredAtEnd(stream: Stream): Option[ConsumerArn] = choiceOf(stream) match {
    case choice: ConsumerChoice.Registered if choice.deregistration != Deregistration.OfNone =>
      resolved
        .get(stream.arn)
        .orElse(
          warning(s"Stream consumer ${choice.name} of ${stream.arn} can't be looked up and may still be charged for") {
            stream.consumers.findAtStop(stream.arn, choice.name)
          }.flatten.map(_.arn)
        )
    case _ => None
  }

  private def isToEnd(stream: Stream, arn: ConsumerArn): Boolean = endOf(stream, claims.isRegistered(arn)) match {
    case ConsumerEnd.Keep                   => false
    case ConsumerEnd.Deregister             => true
    case ConsumerEnd.DeregisterIfOf(owners) =>
      warning(
        s"Stream consumer $arn stays registered and is charged for, because its tags can't be read, which say whether this query registered it"
      )(stream.consumers.owner(arn).exists(owners)).contains(true)
  }

  /** @return none for a failure, which is logged */
  private def warning[A](what: String)(call: => A): Option[A] =
    try Some(call)
    catch {
      case NonFatal(e) =>
        log.warn(s"$what: ${e.getMessage}")
        None
    }

  /** Makes the query the owner of a consumer that `load()` registered. */
  private def adopt(stream: Stream, arn: ConsumerArn, own: ConsumerOwner): Unit =
    warning(
      s"Stream consumer $arn can't be tagged as this query's. If this driver is killed, it stays registered and is charged for"
    ) {
      if (stream.consumers.owner(arn).contains(ConsumerOwner.Unstarted)) stream.consumers.setOwner(arn, own)
    }: Unit

  private def consumerOf(stream: Stream): ConsumerArn = choiceOf(stream) match {
    case ConsumerChoice.Registered(name, when, deregistration) =>
      val owner = query.filter(_ => deregistration != Deregistration.OfNone)
      val arn   = stream.consumers.ready(stream.arn, name, owner).arn
      if (when == RegistrationTime.Eager) owner.foreach(adopt(stream, arn, _))
      arn
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
    * @param query id of the streaming query, none for a batch read
    * @throws KinesisException as [[KnownStreams.open]]
    */
  def open(
      streams: Seq[StreamOptions],
      options: FanOutOptions,
      query: Option[String],
      clients: KinesisClients
  ): FanOutConsumers = {
    val meter      = new ConsumerMeter
    val registered = ConcurrentHashMap.newKeySet[ConsumerArn]

    def register(arn: ConsumerArn): Unit = {
      registered.add(arn)
      clients.claims.register(arn)
    }
    val known = KnownStreams.open(streams, options.tags, clients, meter, register)
    new FanOutConsumers(known, options.consumers, query.map(ConsumerOwner.Query(_)), meter, clients.claims, registered)
  }

  /** Registers the consumers that are wanted already at `load()`, and doesn't wait until they are ACTIVE.
    *
    * @throws KinesisException as [[KnownStreams.open]] and [[ConsumerDirectory.register]]
    */
  def begin(streams: Seq[StreamOptions], options: FanOutOptions, clients: KinesisClients): Unit = {
    val eager  = streams.flatMap(s => eagerChoice(options.consumers(s.stream)).map(s.stream -> _)).toMap
    val opened = KnownStreams.open(
      streams.filter(s => eager.contains(s.stream)),
      options.tags,
      clients,
      registered = clients.claims.register
    )
    try
      opened.streams.foreach { stream =>
        val ConsumerChoice.Registered(name, _, deregistration) = eager(stream.ref)
        val owner = Option.when(deregistration != Deregistration.OfNone)(ConsumerOwner.Unstarted)
        stream.consumers.register(stream.arn, name, owner)
      }
    finally opened.close()
  }

  private def eagerChoice(choice: ConsumerChoice): Option[ConsumerChoice.Registered] = choice match {
    case registered: ConsumerChoice.Registered if registered.when == RegistrationTime.Eager => Some(registered)
    case _                                                                                  => None
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

private[aws] final class ConsumerMeter extends CallObserver {
  private val log   = LoggerFactory.getLogger(classOf[ConsumerMeter])
  private val count = new AtomicReference(ConsumerCalls.none)

  def calls: ConsumerCalls = count.get

  override def called(action: AwsCall): Unit = {
    log.debug("{}", action)
    count.updateAndGet(_.called(action)): Unit
  }

  override def waits(kind: String, resource: String, why: => String, wait: FiniteDuration): Unit = {
    if (log.isInfoEnabled) log.info(s"$why Next try in ${wait.toMillis} ms.")
    count.updateAndGet(_.waited(wait)): Unit
  }
}
