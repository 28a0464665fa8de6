package io.github.kinesisspark.testkit

import java.util.concurrent.atomic.AtomicReference
import scala.annotation.tailrec

/** The rules in force and their counts. Rules are pure (see [[FaultRule]]); this holds them while calls come in. */
final class FaultPlan {
  private val rules = new AtomicReference(Vector.empty[FaultCount])

  def add(rule: FaultRule): Unit = { rules.updateAndGet(_ :+ FaultCount(rule)); () }

  def clear(): Unit = rules.set(Vector.empty)

  /** Takes a rule back, with how often it matched and struck; nothing if it was not there. */
  def remove(rule: FaultRule): Vector[FaultCount] =
    rules.getAndUpdate(_.filterNot(_.rule == rule)).filter(_.rule == rule)

  /** The rules in the order they were added, with how often each matched and struck. */
  def list: Vector[FaultCount] = rules.get

  /** How often all rules together struck. */
  def hits: Long = list.iterator.map(_.struck).sum

  private[testkit] def isEmpty: Boolean = rules.get.isEmpty

  /** The rules that strike this call. */
  @tailrec private[testkit] def strike(target: FaultTarget): Vector[Strike] = {
    val before          = rules.get
    val (after, struck) = FaultRule.strike(before, target)
    if (rules.compareAndSet(before, after)) struck else strike(target)
  }
}
