package io.github.kinesisspark.it.faults

import java.nio.file.{Files, Path, StandardCopyOption}

import io.github.kinesisspark.testkit.{FaultEffect, FaultRule, KinesisServer}

/** An endpoint for clients, and what fails between them and the server for a while. */
trait Outage extends AutoCloseable {

  /** What the outage is called. */
  def name: String
  def endpoint: String
  def takeAway(): Unit
  def giveBack(): Unit
  override def close(): Unit = ()
}

object Outage {

  /** Connections break, and then the server answers, with HTTP 500, every call that concerns one of the streams. */
  final class ServerErrors(server: KinesisServer, streams: => Iterable[String]) extends Outage {
    private lazy val rules        = streams.map(s => FaultRule(FaultEffect.HttpStatus(500), stream = Some(s))).toVector
    private val gate              = new Gate(server.endpoint)
    override def name: String     = "HTTP 500"
    override def endpoint: String = s"http://127.0.0.1:${gate.port}"
    override def takeAway(): Unit = {
      rules.foreach(server.faults.add)
      // Subscriptions that are open would outlive a short outage.
      gate.reset()
    }
    override def giveBack(): Unit = rules.foreach(server.faults.remove)
    override def close(): Unit    = gate.close()
  }

  /** Nobody listens at the server's port. */
  final class Refusals(server: KinesisServer) extends Outage {
    private val gate              = new Gate(server.endpoint)
    override def name: String     = "refused connections"
    override def endpoint: String = s"http://127.0.0.1:${gate.port}"
    override def takeAway(): Unit = gate.refuse()
    override def giveBack(): Unit = gate.restore()
    override def close(): Unit    = gate.close()
  }

  /** TLS handshakes fail. */
  final class FailingTls(server: KinesisServer) extends Outage {
    private val gate              = new Gate(server.tlsEndpoint.get)
    override def name: String     = "failed TLS handshakes"
    override def endpoint: String = s"https://localhost:${gate.port}"
    override def takeAway(): Unit = gate.failHandshakes()
    override def giveBack(): Unit = gate.restore()
    override def close(): Unit    = gate.close()
  }

  /** The endpoint's host name has no address, for a process that looks names up in a file. */
  final class MissingName(server: KinesisServer) extends Outage {
    private val gate   = new Gate(server.endpoint)
    private val others = "127.0.0.1 localhost\n"
    val hosts: Path    = Files.createTempFile("hosts-", "")
    giveBack()
    override def name: String     = "a host name that is not found"
    override def endpoint: String = s"http://kinesis.test:${gate.port}"
    override def takeAway(): Unit = {
      write(others)
      // Names are looked up for new connections alone.
      gate.reset()
    }
    override def giveBack(): Unit = write(s"${others}127.0.0.1 kinesis.test\n")
    override def close(): Unit    = gate.close()

    /** At once, so that no look-up finds half of it. */
    private def write(names: String): Unit = {
      val next = Files.writeString(hosts.resolveSibling(s"${hosts.getFileName}.next"), names)
      Files.move(next, hosts, StandardCopyOption.ATOMIC_MOVE): Unit
    }
  }
}
