package io.github.kinesisspark.aws

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration.FiniteDuration

import io.github.kinesisspark.runtime.{Clock, Ids, Runtime, Waits}

/** A clock that advances only when the code under test sleeps, and a random source that always returns 0.5. Calls are waited for in real time. */
final class FakeTime(start: Long = 1_000_000L) {
  private var millis = start

  val waits: ListBuffer[FiniteDuration] = ListBuffer.empty

  implicit val runtime: Runtime = FakeTime.runtime(
    () => millis,
    time => {
      waits += time
      millis += time.toMillis
    }
  )
}

object FakeTime {

  /** @param now  in ms since 1970
    * @param pass lets time pass
    */
  def runtime(now: () => Long, pass: FiniteDuration => Unit): Runtime = {
    val jvm   = Runtime.ofJvm
    val clock = new Clock {
      override def nanos(): Long  = now() * 1000000
      override def millis(): Long = now()
    }
    val waits = new Waits(clock) {
      override def await(monitor: AnyRef, nanos: Long): Unit = jvm.waits.await(monitor, nanos)
      override def signal(monitor: AnyRef): Unit             = jvm.waits.signal(monitor)
      override def sleep(time: FiniteDuration): Unit         = pass(time)
    }
    val ids = new Ids {
      override def uuid(): String   = jvm.ids.uuid()
      override def chance(): Double = 0.5
    }
    new Runtime(clock, waits, ids, jvm.workers)
  }
}
