package io.github.kinesisspark.read.coordinator

import scala.concurrent.duration._
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.slf4j.LoggerFactory

import io.github.kinesisspark.read.plan.ExecutorId
import io.github.kinesisspark.read.reader.{ReaderRequest, ReleaseRequest, ShardReaderPools}

/** Requests as Spark jobs with one task for each executor, where an executor can't open its end of the channel.
  *
  * Placing is preferred, never forced. A task that runs elsewhere answers nothing, and its shards do not move this time.
  */
private[coordinator] final class ReaderJobs(sc: SparkContext) {
  import ReaderJobs._

  /** @return in the order of the requests: the answer, none, or what was thrown there */
  def ask[A](requests: Vector[(ExecutorId, ReaderRequest[A])]): Vector[Try[Option[A]]] =
    if (requests.isEmpty) Vector.empty
    else
      described(sc, "Kinesis: request to the shard readers") {
        val placed  = sc.makeRDD(requests.map { case (executor, request) => request -> Seq(executor.location) })
        val answers = sc.runJob(placed, answerAll[A] _)
        answers.iterator.map(answer => Try(Reply.read[A](answer.head))).toVector
      }

  def release(requests: Vector[(ExecutorId, ReleaseRequest)]): Unit = {
    // A thread of its own, which doesn't belong to the query's job group: that has been cancelled.
    val releasing = new Thread(() => releaseNow(requests), "kinesis-release-readers")
    releasing.setDaemon(true)
    releasing.start()
    releasing.join(ReleaseTime.toMillis)
  }

  private def releaseNow(requests: Vector[(ExecutorId, ReleaseRequest)]): Unit =
    try {
      sc.clearJobGroup()
      ask(requests): Unit
    } catch {
      case NonFatal(e) => log.debug("The readers close at the end of their lease: {}", e.getMessage)
    }
}

private[coordinator] object ReaderJobs {
  private val log = LoggerFactory.getLogger(classOf[ReaderJobs])

  val ReleaseTime: FiniteDuration = 10.seconds

  private val JobDescription = "spark.job.description"

  /** Jobs that this thread starts in `work` have that description. */
  def described[A](sc: SparkContext, description: String)(work: => A): A = {
    val before = sc.getLocalProperty(JobDescription)
    sc.setJobDescription(description)
    try work
    finally sc.setLocalProperty(JobDescription, before)
  }

  private def answerAll[A](requests: Iterator[ReaderRequest[A]]): Array[Array[Byte]] =
    requests.map(request => Reply.of(ShardReaderPools.answer(request))).toArray
}
