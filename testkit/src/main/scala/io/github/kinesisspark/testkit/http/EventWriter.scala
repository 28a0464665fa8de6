package io.github.kinesisspark.testkit.http

import io.github.kinesisspark.testkit.action.SubscribeToShard
import io.github.kinesisspark.testkit.subscription.{Subscription, SubscriptionEvent, Timetable, Turn}
import io.github.kinesisspark.testkit.wire.{EventFrame, WireFormat}
import org.eclipse.jetty.server.{Request => HttpRequest, Response}
import org.eclipse.jetty.util.Callback
import org.eclipse.jetty.util.thread.Invocable.InvocationType

import java.nio.ByteBuffer
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}
import java.util.function.Consumer
import scala.util.control.NonFatal

/** Writes a subscription's answer: one frame after the other, each when the last one has gone out, as far as the
  * client's window lets it. No thread waits for anything; turns come one at a time, on the timetable's threads.
  */
final private[http] class EventWriter(
    subscription: Subscription,
    format: WireFormat,
    http: HttpRequest,
    response: Response,
    callback: Callback,
    time: Timetable
) {
  private val signals           = new AtomicInteger
  private val over              = new AtomicBoolean
  @volatile private var writing = true // The initial response is the first to go out.
  @volatile private var alarm   = Option.empty[Timetable#Alarm]

  def start(): Unit = {
    http.addFailureListener(e => broken(e))
    subscription.start(() => signal())
    write(EventFrame.initialResponse(format))
  }

  private def signal(): Unit = if (signals.getAndIncrement() == 0) time.execute(() => run())

  // Once per execution, so that a busy subscription lets the others have their turns.
  private def run(): Unit = {
    val seen = signals.get
    try if (!writing && !over.get) play(subscription.next())
    catch { case NonFatal(e) => broken(e) }
    if (signals.addAndGet(-seen) != 0) time.execute(() => run())
  }

  private def play(turn: Turn): Unit = turn match {
    case Turn.Say(event)      => write(frame(event))
    case Turn.Garble(event)   => write(EventFrame.garbled(frame(event)))
    case Turn.Fail(error)     => end(EventFrame.exception(format, error))
    case Turn.Complete        => end(ByteBuffer.allocate(0))
    case Turn.ResetStream     => close(() => ConnectionReset.streamAlone(callback))
    case Turn.ResetConnection => close(() => ConnectionReset.now(http, callback))
    case Turn.Wait(until)     => wakeAt(until)
    case Turn.Silence         => ()
  }

  private def frame(event: SubscriptionEvent): ByteBuffer = EventFrame.event(format, SubscribeToShard.members(event))

  private def write(frame: ByteBuffer): Unit = {
    writing = true
    response.write(false, frame, whenDone { () => writing = false; signal() })
  }

  // Its place is free before the client can know of the end, and come again.
  private def end(frame: ByteBuffer): Unit = close(() => response.write(true, frame, callback))

  private def broken(cause: Throwable): Unit = if (cease()) {
    subscription.abandoned()
    callback.failed(cause)
  }

  private def close(complete: () => Unit): Unit = if (cease()) {
    subscription.close()
    complete()
  }

  /** Whether it had not ceased before. */
  private def cease(): Boolean = {
    val first = over.compareAndSet(false, true)
    if (first) alarm.foreach(_.cancel())
    first
  }

  // An alarm that rings too early does no harm; a new one for every event would cost much.
  private def wakeAt(millis: Long): Unit = if (!alarm.exists(a => a.isSet && a.millis <= millis)) {
    alarm.foreach(_.cancel())
    alarm = Some(time.at(millis)(() => signal()))
  }

  private def whenDone(success: () => Unit): Callback = {
    val failure: Consumer[Throwable] = e => broken(e)
    Callback.from(InvocationType.NON_BLOCKING, () => success(), failure)
  }
}
