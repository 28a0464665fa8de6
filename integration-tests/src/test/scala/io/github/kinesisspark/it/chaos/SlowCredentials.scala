package io.github.kinesisspark.it.chaos

import java.nio.file.{Files, Path}

import scala.util.Try

/** A credentials provider that takes as many milliseconds as stand in a file, and none while there is no file. It keeps the shape of the AWS
  * SDK's providers, which the connector finds by the names of methods: a query of the chaos harness has no SDK on its class path.
  *
  * @param parameters `file`: its path
  */
final class SlowCredentials(parameters: java.util.Map[String, String]) {
  private val file = Path.of(parameters.get("file"))

  def resolveCredentials(): SlowCredentials.Keys = {
    Thread.sleep(millis)
    new SlowCredentials.Keys
  }

  // There is none, or the harness is writing or deleting it: it is a disturbance, not a promise.
  private def millis: Long = Try(Files.readString(file).trim.toLong).getOrElse(0L)
}

object SlowCredentials {

  /** What every local server takes. */
  final class Keys {
    def accessKeyId(): String     = "local"
    def secretAccessKey(): String = "local"
  }
}
