package io.github.kinesisspark.it.faults

import java.net.URI
import java.nio.file.{Files, Path, StandardCopyOption}

import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, KinesisServer}

/** An endpoint for clients, and what fails between them and the server for a while.
  *
  * @param name   what the outage is called
  * @param origin scheme and host of the endpoint
  */
abstract class Outage(val name: String, origin: String, server: URI) extends AutoCloseable {
  protected val gate = new Gate(server)

  def endpoint: String = s"$origin:${gate.port}"
  def takeAway(): Unit
  def giveBack(): Unit       = gate.restore()
  override def close(): Unit = gate.close()
}

object Outage {

  /** Connections break, and then the server answers, with HTTP 500, every call that concerns one of the streams. */
  final class ServerErrors(server: KinesisServer, streams: => Iterable[String])
      extends Outage("HTTP 500", "http://127.0.0.1", server.endpoint) {
    private lazy val rules        = streams.map(s => FaultRule(FaultEffect.HttpStatus(500), stream = Some(s))).toVector
    override def takeAway(): Unit = {
      rules.foreach(server.faults.add)
      // Subscriptions that are open would outlive a short outage.
      gate.reset()
    }
    override def giveBack(): Unit = rules.foreach(server.faults.remove)
  }

  /** Nobody listens at the server's port. */
  final class Refusals(server: KinesisServer)
      extends Outage("refused connections", "http://127.0.0.1", server.endpoint) {
    override def takeAway(): Unit = gate.refuse()
  }

  /** TLS handshakes fail. */
  final class FailingTls(server: KinesisServer)
      extends Outage("failed TLS handshakes", "https://localhost", server.tlsEndpoint.get) {
    override def takeAway(): Unit = gate.failHandshakes()
  }

  /** The endpoint's host name has no address, for a process that looks names up in a file. */
  final class MissingName(server: KinesisServer)
      extends Outage("a host name that is not found", "http://kinesis.test", server.endpoint) {
    private val others = "127.0.0.1 localhost\n"
    val hosts: Path    = Files.createTempFile("hosts-", "")
    giveBack()
    override def takeAway(): Unit = {
      write(others)
      // Names are looked up for new connections alone.
      gate.reset()
    }
    override def giveBack(): Unit = write(s"${others}127.0.0.1 kinesis.test\n")

    /** At once, so that no look-up finds half of it. */
    private def write(names: String): Unit = {
      val next = Files.writeString(hosts.resolveSibling(s"${hosts.getFileName}.next"), names)
      Files.move(next, hosts, StandardCopyOption.ATOMIC_MOVE): Unit
    }
  }
}
