package io.github.kinesisspark.it.soak

/** What the soak tells, as JSON. */
object Figures {
  def obj(fields: (String, ujson.Value)*): ujson.Obj = ujson.Obj.from(fields)

  def number[N](n: N)(implicit numeric: Numeric[N]): ujson.Num = ujson.Num(numeric.toDouble(n))

  def counts[N: Numeric](counts: Map[String, N]): ujson.Obj =
    obj(counts.toVector.sortBy(_._1).map { case (name, n) => name -> number(n) }*)

  def texts(lines: Iterable[String]): ujson.Arr = ujson.Arr.from(lines)

  def megabytes(bytes: Long): ujson.Num = number(bytes >> 20)
}
