package io.github.kinesisspark.read.catalog

import scala.concurrent.duration._
import scala.util.{Failure, Success, Try}

import io.github.kinesisspark.runtime.{Attempt, Runtime}

/** Blocking questions about many shards, some at a time. */
object Parallel {

  /** The answers in the order of the questions. The first failure ends it, be it an Error, as does an interrupt. */
  def map[A, B](questions: Seq[A])(answer: A => B)(implicit runtime: Runtime): Vector[B] =
    if (questions.size <= 1) questions.iterator.map(answer).toVector
    else {
      val threads = runtime.workers.fixed("kinesis-planning", questions.size.min(AtOnce))
      val answers = new Answers[B](questions.size)
      try {
        questions.iterator.zipWithIndex.foreach { case (question, i) =>
          threads.execute(() => answers.put(i, Attempt(answer(question))))
        }
        answers.all()
      } finally threads.close()
    }

  private final class Answers[B](count: Int)(implicit runtime: Runtime) {
    private var known  = Map.empty[Int, B]
    private var failed = Option.empty[Throwable]

    def put(i: Int, answer: Try[B]): Unit = synchronized {
      answer match {
        case Success(value) => known += i -> value
        case Failure(cause) => failed = failed.orElse(Some(cause))
      }
      if (failed.isDefined || known.size == count) runtime.waits.signal(this)
    }

    def all(): Vector[B] = synchronized {
      while (!runtime.waits.until(this, 1.day)(failed.isDefined || known.size == count)) ()
      failed.foreach(throw _)
      Vector.tabulate(count)(known)
    }
  }

  /** An answer has 10 MB at most, so this is also what they take of memory. */
  private[kinesisspark] val AtOnce = 16
}
