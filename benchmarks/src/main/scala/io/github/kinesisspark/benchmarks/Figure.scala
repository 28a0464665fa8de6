package io.github.kinesisspark.benchmarks

/** One number that a release is compared by.
  *
  * @param values of the rounds: the figure is their median
  * @param method how it was measured, in a sentence
  * @param facts  that belong to it, as the server's share of CPU
  */
final case class Figure(
    name: String,
    values: Seq[Double],
    unit: String,
    goal: Option[Goal],
    method: String,
    facts: Seq[(String, ujson.Value)] = Nil
) {
  def value: Double = Figure.rounded(Figure.median(values))

  def json: ujson.Obj = ujson.Obj.from(
    Seq[(String, ujson.Value)](
      "name"   -> name,
      "value"  -> value,
      "unit"   -> unit,
      "goal"   -> goal.fold[ujson.Value](ujson.Null)(_.text),
      "met"    -> goal.fold[ujson.Value](ujson.Null)(_.isMetBy(value)),
      "least"  -> Figure.rounded(values.min),
      "most"   -> Figure.rounded(values.max),
      "rounds" -> values.size,
      "method" -> method
    ) ++ facts
  )
}

object Figure {
  def median(values: Seq[Double]): Double = values.sorted.apply(values.size / 2)

  /** To three digits, and whole ones beyond. */
  def rounded(value: Double): Double =
    if (value == 0 || value.abs >= 100) math.round(value * 10) / 10.0
    else BigDecimal(value).round(new java.math.MathContext(3)).toDouble
}

/** A figure is to be at most this. */
final case class Goal(limit: Double) {
  def text: String = s"at most ${if (limit.isWhole) limit.toInt.toString else limit.toString}"

  def isMetBy(value: Double): Boolean = value <= limit
}
