package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit._
import io.github.kinesisspark.testkit.action.{
  Constraints,
  Operation,
  Outcome,
  Request,
  StartingPosition,
  WriteOperations
}
import io.github.kinesisspark.testkit.auth.{Authentication, Authorization, SignedRequest}
import io.github.kinesisspark.testkit.model.{CallQuotas, ServiceError, ServiceException, ShardIterator, ShardPage}
import io.github.kinesisspark.testkit.subscription.Subscription
import io.github.kinesisspark.testkit.wire.{EventFrame, Fields, Reply, WireFormat}
import org.eclipse.jetty.http.HttpHeader
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server.{Handler, Request => HttpRequest, Response}
import org.eclipse.jetty.util.Callback
import org.slf4j.LoggerFactory

import java.nio.ByteBuffer
import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneOffset}
import java.util.UUID
import java.util.concurrent.TimeUnit
import scala.util.control.NonFatal

/** The service's endpoint: from an HTTP request to an operation and back, with the faults that strike on the way. */
final private[testkit] class KinesisHandler(
    config: KinesisServerConfig,
    streams: Streams,
    subscriptions: Subscriptions,
    authentication: Authentication,
    authorization: Authorization,
    faults: FaultPlan,
    calls: CallLog
) extends Handler.Abstract {
  import KinesisHandler._

  private val quotas = new CallQuotas

  override def handle(http: HttpRequest, response: Response, callback: Callback): Boolean = {
    val action = Option(http.getHeaders.get("X-Amz-Target")).fold("")(_.stripPrefix(TargetPrefix))
    val format = WireFormat.of(http.getHeaders.get(HttpHeader.CONTENT_TYPE))
    val body   = SignedRequest.bytesOf(Content.Source.asByteBuffer(http))
    val parsed = Fields.parse(format.getOrElse(WireFormat.Json), body, body.length)
    val target = targetOf(action, parsed.getOrElse(Fields.empty))
    val struck = if (faults.isEmpty) Vector.empty else faults.strike(target)
    val call   = new Exchange(http, response, callback, action, format, body, parsed, target, struck)
    val delay  = struck.iterator.map(_.rule.effect).collect { case FaultEffect.Delay(by) => by.toMillis }.sum
    if (delay == 0) call.run()
    else
      getServer.getScheduler.schedule(
        () => getServer.getThreadPool.execute(() => call.run()),
        delay,
        TimeUnit.MILLISECONDS
      )
    true
  }

  /** One request on its way to its answer. */
  private class Exchange(
      http: HttpRequest,
      response: Response,
      callback: Callback,
      action: String,
      format: Option[WireFormat],
      body: Array[Byte],
      parsed: Either[ServiceError, Fields],
      target: FaultTarget,
      struck: Vector[Strike]
  ) {
    private val at      = config.clock.millis
    private val effects = struck.map(_.rule.effect)

    def run(): Unit = try
      if (effects.contains(FaultEffect.Reset(ResetPoint.BeforeCall))) reset()
      else
        effects
          .collectFirst {
            case FaultEffect.HttpStatus(status)                 => send(status, Vector.empty, None, none)
            case FaultEffect.ServiceCode(code, message, status) => fail(ServiceError(code, message, status))
          }
          .getOrElse(answer())
    catch {
      case e: ServiceException => fail(e.error)
      case NonFatal(e)         =>
        log.error(s"$action failed", e)
        fail(ServiceError.internalFailure(e.toString))
    }

    private def answer(): Unit = {
      if (format.isEmpty) ServiceError.serialization("Content type is neither JSON nor CBOR of version 1.1").raise()
      val caller    = authentication.caller(SignedRequest.of(http, body)).fold(_.raise(), identity)
      val operation = Operation.all.getOrElse(action, ServiceError.unknownOperation(action).raise())
      if (config.enforceLimits) quotas.take(caller.accountId, target.stream, action, at).foreach { owner =>
        ServiceError.limitExceeded(s"Rate exceeded for $action of $owner.").raise()
      }
      val fields = parsed.fold(_.raise(), identity)
      Constraints.check(fields)
      val owners  = authorization.streamsFor(caller, action, fields).fold(_.raise(), identity)
      val outcome = operation(new Request(fields, owners, subscriptions, owners.config, struck))
      outcome.reply match {
        case whole: Reply.Whole         => send(200, Reply.encode(whole, wire), None, outcome)
        case Reply.Events(subscription) => stream(subscription, outcome)
      }
    }

    // A fault that spoils the answer spoils its first frame, and nothing comes after it.
    private def stream(subscription: Subscription, outcome: Outcome): Unit =
      if (effects.exists(SpoilsBody)) {
        subscription.close()
        send(200, Vector(EventFrame.initialResponse(wire)), None, outcome, EventFrame.ContentType)
      } else {
        begin(200, EventFrame.ContentType)
        record(200, None, outcome)
        new EventWriter(subscription, wire, http, response, callback, subscriptions.time).start()
      }

    private def fail(error: ServiceError): Unit = {
      response.getHeaders.put("x-amzn-ErrorType", error.code)
      val body = Reply.Members { out =>
        out.text("__type", error.code)
        out.text("message", error.message)
      }
      send(error.status, Reply.encode(body, wire), Some(error.code), none)
    }

    private def wire: WireFormat = format.getOrElse(WireFormat.Json)

    private def begin(status: Int, contentType: String): Unit = {
      val skew    = effects.collect { case FaultEffect.ClockSkew(by) => by.toMillis }.sum
      val headers = response.getHeaders
      response.setStatus(status)
      headers.put("x-amzn-RequestId", UUID.randomUUID.toString)
      headers.put(HttpHeader.DATE, HttpDate.format(Instant.ofEpochMilli(config.clock.millis + skew)))
      headers.put(HttpHeader.CONTENT_TYPE, contentType)
      ()
    }

    private def send(
        status: Int,
        whole: Vector[ByteBuffer],
        error: Option[String],
        outcome: Outcome,
        contentType: String = wire.contentType
    ): Unit =
      if (effects.contains(FaultEffect.Reset(ResetPoint.AfterCall))) reset()
      else {
        val body = spoiled(whole)
        begin(status, contentType)
        response.getHeaders.put(HttpHeader.CONTENT_LENGTH, body.iterator.map(_.remaining.toLong).sum)
        if (effects.contains(FaultEffect.Reset(ResetPoint.InsideBody))) {
          record(0, None, none)
          ConnectionReset.insideBody(http, response, halved(body), callback)
        } else {
          record(status, error, outcome)
          write(body.toList)
        }
      }

    private def spoiled(body: Vector[ByteBuffer]): Vector[ByteBuffer] =
      if (effects.contains(FaultEffect.TruncatedBody)) halved(body)
      else if (effects.contains(FaultEffect.GarbageBody)) Vector(ByteBuffer.wrap(Garbage))
      else body

    private def write(body: List[ByteBuffer]): Unit = body match {
      case Nil          => response.write(true, ByteBuffer.allocate(0), callback)
      case last :: Nil  => response.write(true, last, callback)
      case next :: rest =>
        response.write(false, next, Callback.from(() => write(rest), (e: Throwable) => callback.failed(e)))
    }

    private def reset(): Unit = {
      record(0, None, none)
      ConnectionReset.now(http, callback)
    }

    private def record(status: Int, error: Option[String], outcome: Outcome): Unit = calls.add(
      Call(
        at,
        action,
        target.stream,
        target.shards ++ outcome.shards,
        startOf(parsed.getOrElse(Fields.empty)),
        status,
        error,
        outcome.records,
        http.getConnectionMetaData.getProtocol
      )
    )
  }

  // Whom a call concerns, as far as its members say; a malformed one concerns nobody.
  private def targetOf(action: String, fields: Fields): FaultTarget = try {
    val iterator = fields.text("ShardIterator").flatMap(ShardIterator.decode)
    val stream   = Request
      .streamName(fields)
      .orElse(iterator.map(_.stream))
      .orElse(fields.text("NextToken").flatMap(ShardPage.decode).map(_.stream))
    val named  = ShardMembers.flatMap(fields.text(_)) ++ iterator.map(_.shard)
    val routed =
      if (faults.isEmpty || !Writes(action)) Set.empty[String]
      else stream.flatMap(streams.get).fold(Set.empty[String])(WriteOperations.shardsOf(fields, _))
    FaultTarget(action, stream, named.toSet ++ routed)
  } catch {
    case _: ServiceException => FaultTarget(action, None, Set.empty)
  }

  private def startOf(fields: Fields): Option[String] = try
    StartingPosition
      .describe(StartingPosition.OfIterator, fields)
      .orElse(
        fields.structure("StartingPosition").flatMap(StartingPosition.describe(StartingPosition.OfSubscription, _))
      )
  catch {
    case _: ServiceException => None
  }
}

private[testkit] object KinesisHandler {
  private val log          = LoggerFactory.getLogger(classOf[KinesisHandler])
  private val TargetPrefix = "Kinesis_20131202."
  private val ShardMembers = Vector("ShardId", "ShardToSplit", "ShardToMerge", "AdjacentShardToMerge")
  private val Writes       = Set("PutRecord", "PutRecords")
  private val Garbage      = Array.tabulate[Byte](512)(i => (i * 31 + 7).toByte)
  private val none         = Outcome.done
  private val HttpDate     = DateTimeFormatter.RFC_1123_DATE_TIME.withZone(ZoneOffset.UTC)

  private val SpoilsBody: Set[FaultEffect] = Set(
    FaultEffect.Reset(ResetPoint.AfterCall),
    FaultEffect.Reset(ResetPoint.InsideBody),
    FaultEffect.TruncatedBody,
    FaultEffect.GarbageBody
  )

  /** The first half of a body's bytes. */
  private def halved(body: Vector[ByteBuffer]): Vector[ByteBuffer] = {
    var left = body.iterator.map(_.remaining).sum / 2
    body.takeWhile(_ => left > 0).map { part =>
      val take = math.min(left, part.remaining)
      left -= take
      part.duplicate.limit(part.position() + take)
    }
  }
}
