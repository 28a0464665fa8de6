package io.github.kinesisspark.read.catalog

import scala.concurrent.duration._
import scala.util.Try

import io.github.kinesisspark.runtime.{Attempt, Runtime, WaitingQueue}

/** Blocking questions about many shards, some at a time. */
object Parallel {

  /** The answers in the order of the questions. The first failure ends it, be it an Error, as does an interrupt. */
  def map[A, B](questions: Seq[A])(answer: A => B)(implicit runtime: Runtime): Vector[B] =
    if (questions.size <= 1) questions.iterator.map(answer).toVector
    else {
      val threads = runtime.workers.fixed("kinesis-planning", questions.size.min(AtOnce))
      val answers = new WaitingQueue[(Int, Try[B])]
      try {
        questions.iterator.zipWithIndex.foreach { case (question, i) =>
          threads.execute(() => answers.put(i -> Attempt(answer(question))))
        }
        var known = Map.empty[Int, B]
        while (known.size < questions.size) answers.poll(1.day).foreach { case (i, found) => known += i -> found.get }
        Vector.tabulate(questions.size)(known)
      } finally threads.close()
    }

  /** An answer has 10 MB at most, so this is also what they take of memory. */
  private[kinesisspark] val AtOnce = 16
}
