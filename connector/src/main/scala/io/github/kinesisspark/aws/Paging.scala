package io.github.kinesisspark.aws

import scala.annotation.tailrec

/** Reads an answer that comes in pages, from a server that may never end it. */
private[aws] object Paging {

  /** All pages, the first asked for without a token.
    *
    * @param most items
    * @throws KinesisException `KINESIS_ANSWER_DAMAGED` where a token comes a second time, pages bring nothing, or there are too many items
    */
  def all[P](action: AwsCall, resource: String, most: Int)(
      page: Option[String] => P
  )(next: P => Option[String], size: P => Int): Vector[P] = {
    @tailrec def rest(pages: Vector[P], seen: Set[String], items: Long, empty: Int): Vector[P] =
      next(pages.last) match {
        case None                         => pages
        case Some(token) if seen(token)   => endless(action, resource, "the same page token twice")
        case Some(_) if items > most      => endless(action, resource, s"more than $most items")
        case Some(_) if empty > MostEmpty => endless(action, resource, s"$MostEmpty empty pages one after the other")
        case Some(token)                  =>
          val more = page(Some(token))
          rest(pages :+ more, seen + token, items + size(more), if (size(more) == 0) empty + 1 else 0)
      }
    val first = page(None)
    rest(Vector(first), Set.empty, size(first).toLong, 0)
  }

  private val MostEmpty = 100

  private def endless(action: AwsCall, resource: String, what: String): Nothing = {
    val fault = FaultClassifier.classify(new DamagedAnswer(s"It has $what"))
    throw KinesisFault.exception(action, resource, fault)
  }
}
