package io.github.kinesisspark.simulation

/** Leaves of a plan that fails only what it takes to fail: first strikes go, then what makes the world large. */
final class Shrinking(fails: Plan => Boolean, hasTime: () => Boolean) {

  def shrink(plan: Plan): Plan = {
    val fewer   = without(plan, plan.strikes.size / 2)
    val smaller = steps.foldLeft(fewer)((now, step) => step(now).find(tried).getOrElse(now))
    if (smaller == plan) plan else if (hasTime()) shrink(smaller) else smaller
  }

  private def tried(plan: Plan) = hasTime() && fails(plan)

  /** Tries to leave out so many strikes at once, then fewer. */
  private def without(plan: Plan, count: Int): Plan =
    if (count == 0) plan
    else {
      val left = plan.strikes.indices.by(count).foldRight(plan) { (from, now) =>
        val next = now.copy(strikes = now.strikes.patch(from, Nil, count))
        if (next.strikes.size < now.strikes.size && tried(next)) next else now
      }
      without(left, count / 2)
    }

  private val steps: Vector[Plan => Option[Plan]] = Vector(
    of(s => s.queries.size > 1)(s => s.copy(queries = s.queries.take(1))),
    of(s => s.queries.exists(_.sources.size > 1))(s =>
      s.copy(queries = s.queries.map(q => q.copy(sources = q.sources.take(1))))
    ),
    of(_.queries.exists(_.runs.size > 1))(s => s.copy(queries = s.queries.map(q => q.copy(runs = q.runs.take(1))))),
    of(_.queries.exists(_.runs.exists(_.sink.nonEmpty)))(s =>
      s.copy(queries = s.queries.map(q => q.copy(runs = q.runs.map(_.copy(sink = None)))))
    ),
    of(_.executors > 1)(_.copy(executors = 1)),
    of(_.streams.exists(_._2 > 1))(s => s.copy(streams = s.streams.map(_._1 -> 1))),
    of(_.credentials)(_.copy(credentials = false)),
    of(s => s.speculation > 0 || s.wrongExecutor > 0)(_.copy(speculation = 0, wrongExecutor = 0)),
    of(_.earlyEnds > 0)(_.copy(earlyEnds = 0)),
    of(_.actions > 0)(_.copy(actions = 0)),
    of(_.hasCallers)(_.copy(hasCallers = false)),
    of(_.burst > 3)(_.copy(burst = 3)),
    of(_.kinesis.shortAnswers > 0)(s => s.copy(kinesis = s.kinesis.copy(shortAnswers = 0))),
    of(_.kinesis.arrivalsBackMillis > 0)(s => s.copy(kinesis = s.kinesis.copy(arrivalsBackMillis = 0))),
    of(_.kinesis.emptyAnswers > 0)(s => s.copy(kinesis = s.kinesis.copy(emptyAnswers = 0))),
    of(_.kinesis.updateMillis > 0)(s => s.copy(kinesis = s.kinesis.copy(updateMillis = 0))),
    of(_.kinesis.listingMillis > 0)(s => s.copy(kinesis = s.kinesis.copy(listingMillis = 0))),
    of(_.kinesis.pageSize < Int.MaxValue)(s => s.copy(kinesis = s.kinesis.copy(pageSize = Int.MaxValue))),
    of(_.kinesis.unknownMillis > 0)(s => s.copy(kinesis = s.kinesis.copy(unknownMillis = 0))),
    of(_.kinesis.otherConsumers > 0)(s => s.copy(kinesis = s.kinesis.copy(otherConsumers = 0))),
    of(_.kinesis.callsPerSecond < 1000)(s => s.copy(kinesis = s.kinesis.copy(callsPerSecond = 1000))),
    of(_.kinesis.iteratorMillis < 300000)(s => s.copy(kinesis = s.kinesis.copy(iteratorMillis = 300000))),
    of(_.kinesis.subscriptionMillis < 300000)(s => s.copy(kinesis = s.kinesis.copy(subscriptionMillis = 300000)))
  )

  private def of(isLarge: WorldSettings => Boolean)(change: WorldSettings => WorldSettings)(plan: Plan): Option[Plan] =
    Option.when(isLarge(plan.settings))(plan.copy(settings = change(plan.settings)))
}
