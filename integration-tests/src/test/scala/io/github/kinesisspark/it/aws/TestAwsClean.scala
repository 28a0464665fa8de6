package io.github.kinesisspark.it.aws

import scala.util.{Failure, Success, Try}

import io.github.kinesisspark.it.TestRun

/** `make test-aws-clean`: lists and deletes the streams and consumers whose names begin with a prefix. */
object TestAwsClean {
  def main(args: Array[String]): Unit = System.exit(run(sys.env.filter(_._2.nonEmpty), println(_)))

  private[aws] def run(variables: Map[String, String], say: String => Unit): Int = {
    val asked = for {
      settings <- AwsSettings.parse(variables)
      prefix   <- OwnStreams.checked(variables.getOrElse("PREFIX", TestRun.Mark))
    } yield (settings, prefix)
    asked match {
      case Left(problem) =>
        say(problem)
        TestAws.Exit.Refused
      case Right((settings, prefix)) =>
        val service = settings.open()
        try
          Try(new OwnStreams(service, prefix).delete(say)) match {
            case Success(_) =>
              say(s"No stream with '$prefix' is left in ${settings.region}")
              TestAws.Exit.Passed
            case Failure(failure) =>
              say(s"Not everything is deleted: ${failure.getMessage}")
              TestAws.Exit.NotCleanedUp
          }
        finally service.close()
    }
  }
}
