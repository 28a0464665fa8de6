package io.github.kinesisspark.peers

import java.io.{BufferedReader, File, InputStreamReader}

import scala.util.control.NonFatal

/** A reader of Kinesis, as `make bench-peers` measures it. Each has a process of its own, which obeys lines of standard input:
  *
  *   - `read`, a way of reading, an endpoint and a stream's ARN, with tabs between them
  *   - `stop`
  *
  * Lines of standard output that begin with [[Peer.Mark]] are JSON: what the reader is, what [[Received]] reports, and that it has stopped.
  */
trait Peer {

  /** Versions and settings, in a sentence for the page. */
  def about: String

  /** Reads from TRIM_HORIZON until it is closed, and hands each record to [[Received]]. */
  def read(way: String, stream: KinesisStream): AutoCloseable

  final def main(args: Array[String]): Unit = {
    val lines                          = new BufferedReader(new InputStreamReader(System.in))
    var reading: Option[AutoCloseable] = None
    val status                         =
      try {
        Peer.say(s"""{"about":"${about.replace("\\", "\\\\").replace("\"", "\\\"")}"}""")
        Iterator.continually(lines.readLine()).takeWhile(_ != null).foreach {
          _.split('\t') match {
            case Array("read", way, endpoint, arn) =>
              Received.begin()
              reading = Some(read(way, KinesisStream(endpoint, arn)))
            case _ =>
              Received.end()
              reading.foreach(_.close())
              reading = None
              Peer.say("""{"stopped":true}""")
          }
        }
        0
      } catch {
        case NonFatal(e) =>
          e.printStackTrace()
          1
      }
    // Some readers leave threads behind.
    sys.exit(status)
  }
}

object Peer {
  val Mark = "peer: "

  /** Its tasks at a time. */
  val Parallelism = 2

  val Region = "us-east-1"

  /** The way of reading that makes no pause between two calls of a shard. */
  val Unpaused = "polling without pauses"

  def say(json: String): Unit = println(Mark + json)

  /** The version of a library, by the name of its JAR on the class path.
    *
    * @throws java.util.NoSuchElementException if there is no such JAR
    */
  def version(library: String): String = {
    val name = s"${java.util.regex.Pattern.quote(library)}-([0-9].*)\\.jar".r
    sys
      .props("java.class.path")
      .split(File.pathSeparator)
      .map(new File(_).getName)
      .collectFirst { case name(v) => v }
      .get
  }
}

/** A stream of a server in cleartext. */
final case class KinesisStream(endpoint: String, arn: String) {
  def name: String = arn.split('/').last
}
