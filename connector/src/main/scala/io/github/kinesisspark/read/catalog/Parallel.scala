package io.github.kinesisspark.read.catalog

import java.util.concurrent.{Callable, ExecutionException, Executors}

import io.github.kinesisspark.aws.DaemonThreads

/** Blocking questions about many shards, some at a time. */
object Parallel {

  /** The answers in the order of the questions. The first failure ends it, as does an interrupt. */
  def map[A, B](questions: Seq[A])(answer: A => B): Vector[B] =
    if (questions.size <= 1) questions.iterator.map(answer).toVector
    else {
      val threads = Executors.newFixedThreadPool(questions.size.min(AtOnce), new DaemonThreads("kinesis-planning"))
      try {
        val asked = questions.map(q => threads.submit((() => answer(q)): Callable[B]))
        asked.iterator.map(_.get()).toVector
      } catch { case e: ExecutionException => throw e.getCause }
      finally threads.shutdownNow(): Unit
    }

  /** An answer has 10 MB at most, so this is also what they take of memory. */
  private[kinesisspark] val AtOnce = 16
}
