package io.github.kinesisspark.it.faults

import java.io.IOException
import java.net.{InetAddress, InetSocketAddress, ServerSocket, Socket, URI}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Try

/** A TCP relay on a port of its own in front of a server: the network between, which a test can take away and give back.
  *
  * Each connection has two threads. Whatever is taken away, connections that are open are reset.
  *
  * @param server where bytes go
  */
final class Gate(server: URI) extends AutoCloseable {
  import Gate._

  private val open                = ConcurrentHashMap.newKeySet[Socket]()
  @volatile private var listening = listen(0)
  @volatile private var tlsFails  = false

  val port: Int = listening.getLocalPort

  /** Connections are refused from now on: nobody listens. */
  def refuse(): Unit = {
    listening.close()
    reset()
  }

  /** Connections are accepted, and each TLS handshake fails from now on. */
  def failHandshakes(): Unit = {
    tlsFails = true
    reset()
  }

  /** Everything passes again. */
  def restore(): Unit = {
    tlsFails = false
    if (listening.isClosed) listening = listen(port)
  }

  /** Resets the connections that are open; new ones pass. */
  def reset(): Unit = open.asScala.toVector.foreach(drop)

  override def close(): Unit = refuse()

  private def listen(at: Int): ServerSocket = {
    val socket = new ServerSocket
    socket.setReuseAddress(true)
    socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress, at), Backlog)
    inBackground(while (!socket.isClosed) accept(socket))
    socket
  }

  private def accept(on: ServerSocket): Unit = {
    val client = on.accept()
    open.add(client)
    inBackground(if (tlsFails) alert(client) else relay(client))
  }

  private def alert(client: Socket): Unit =
    try {
      client.getInputStream.read(new Array[Byte](Chunk)): Unit
      client.getOutputStream.write(HandshakeFailure)
      client.shutdownOutput()
      // Closing with unread bytes would reset the connection before the alert is read.
      client.getInputStream.transferTo(java.io.OutputStream.nullOutputStream()): Unit
    } finally drop(client)

  private def relay(client: Socket): Unit = {
    val service = new Socket(server.getHost, server.getPort)
    open.add(service)
    if (listening.isClosed) drop(client)
    inBackground(copy(client, service))
    copy(service, client)
  }

  private def copy(from: Socket, to: Socket): Unit =
    try {
      val in     = from.getInputStream
      val out    = to.getOutputStream
      val buffer = new Array[Byte](Chunk)
      Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach(out.write(buffer, 0, _))
    } finally {
      drop(from)
      drop(to)
    }

  private def drop(socket: Socket): Unit = {
    open.remove(socket)
    Try(socket.setSoLinger(true, 0)): Unit
    socket.close()
  }
}

private object Gate {
  private val Backlog = 500
  private val Chunk   = 64 << 10

  /** An alert record: fatal, handshake_failure.
    *
    * @see [[https://www.rfc-editor.org/rfc/rfc8446#section-6 RFC 8446, section 6]]
    */
  private val HandshakeFailure = Array[Byte](0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28)

  /** Ends with its connection or socket. */
  private def inBackground(work: => Unit): Unit = {
    val thread = new Thread(
      () =>
        try work
        catch { case _: IOException => () },
      "gate"
    )
    thread.setDaemon(true)
    thread.start()
  }
}
