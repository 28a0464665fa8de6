package io.github.kinesisspark.aws

import java.io.{DataInputStream, IOException}
import java.net.{InetAddress, InetSocketAddress, ServerSocket, Socket, URI}
import java.nio.charset.StandardCharsets.US_ASCII
import java.time.{Instant, ZoneOffset, ZonedDateTime}
import java.time.format.DateTimeFormatter
import java.nio.channels.SocketChannel
import java.util.concurrent.{CompletableFuture, CountDownLatch, Executors, Semaphore, TimeUnit, TimeoutException}
import javax.net.ssl.{SSLException, SSLHandshakeException}

import io.github.kinesisspark.{ContextClassLoader, SystemProperties}
import io.github.kinesisspark.config.{ClientOptions, ConnectionOptions, CredentialsOptions, ProxyOptions, Secret}
import org.scalatest.funsuite.AnyFunSuite
import com.sun.net.httpserver.HttpServer
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

import scala.concurrent.duration._
import scala.jdk.OptionConverters._
import scala.util.Using

class KinesisClientsTest extends AnyFunSuite {

  private def options(endpoint: URI, secret: String = "secret-1"): ClientOptions =
    ClientOptions(
      None,
      Some(endpoint),
      CredentialsOptions.StaticKeys(new Secret("id-1"), new Secret(secret), Some(new Secret("token-1")))
    )

  private def using[A](
      answer: (StubServer.Request, Int) => StubServer.Answer
  )(test: (StubServer, KinesisAsyncClient) => A): A = {
    val server = new StubServer(answer)
    val lease  = KinesisClients.ofJvm.lease(options(server.endpoint), "eu-west-1")
    try test(server, lease.client)
    finally {
      lease.close()
      server.close()
    }
  }

  private def fault(client: KinesisAsyncClient): Fault =
    FaultClassifier.classify(intercept[Exception](client.describeLimits().get(2, TimeUnit.MINUTES)))

  test("requests use HTTP/1.1 and are signed with the given keys, session token and region") {
    using((_, _) => StubServer.Empty) { (server, client) =>
      client.describeLimits().get(2, TimeUnit.MINUTES)
      val Seq(request) = server.requests: @unchecked
      assert(request.protocol == "HTTP/1.1")
      assert(
        request.headers("authorization").contains("Credential=id-1/") && request
          .headers("authorization")
          .contains("/eu-west-1/kinesis/")
      )
      assert(request.headers("x-amz-security-token") == "token-1")
    }
  }

  test("the user agent names the connector and the application") {
    val server = new StubServer((_, _) => StubServer.Empty)
    val named  = options(server.endpoint).copy(connection = ConnectionOptions(applicationId = Some("etl-1")))
    val lease  = KinesisClients.ofJvm.lease(named, "eu-west-1")
    try {
      lease.client.describeLimits().get(2, TimeUnit.MINUTES)
      val agent = server.requests.head.headers("user-agent")
      assert(agent.contains("kinesis-spark") && agent.contains("app/etl-1"))
    } finally {
      lease.close()
      server.close()
    }
  }

  test("a server that is silent for longer than readTimeout fails calls with KINESIS_TIMED_OUT") {
    val server    = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
    val impatient = options(new URI(s"http://127.0.0.1:${server.getLocalPort}"))
      .copy(connection = ConnectionOptions(readTimeout = Some(1.second)))
    val lease = KinesisClients.ofJvm.lease(impatient, "eu-west-1")
    try assert(fault(lease.client).kind.errorClass == "KINESIS_TIMED_OUT")
    finally {
      lease.close()
      server.close()
    }
  }

  /** The host that a client asks the proxy for, which lets nobody pass. */
  private def hostCalled(
      connection: ConnectionOptions,
      call: KinesisAsyncClient => CompletableFuture[?] = _.describeLimits()
  ): String = {
    val proxy = new TunnelProxy(allowed = false)
    val keys  = CredentialsOptions.StaticKeys(new Secret("id"), new Secret("secret"), None)
    val how   = connection.copy(proxy = Some(ProxyOptions(proxy.address, None, None, Nil)))
    val lease = KinesisClients.ofJvm.lease(ClientOptions(None, None, keys, how), "us-east-1")
    try {
      val refusal = intercept[Exception](call(lease.client).get(2, TimeUnit.MINUTES))
      assert(FaultClassifier.classify(refusal).kind.errorClass == "KINESIS_PROXY_FAILED")
      proxy.asked.head
    } finally {
      lease.close()
      proxy.close()
    }
  }

  test("calls over TLS go through the proxy of https.proxyHost, except to hosts of http.nonProxyHosts") {
    def asked(more: (String, String)*) = Using.Manager { use =>
      val proxy = use(new TunnelProxy(allowed = false))
      val other = use(new StubServer((_, _) => StubServer.Empty))
      val tls   = options(new URI(s"https://${other.endpoint.getAuthority}"))
      val here  = Seq("https.proxyHost" -> proxy.address.getHost, "https.proxyPort" -> proxy.address.getPort.toString)
      SystemProperties.within(here ++ more: _*) {
        val lease = use(KinesisClients.ofJvm.lease(tls, "eu-west-1"))
        (fault(lease.client).kind.errorClass, proxy.asked.contains(other.endpoint.getAuthority))
      }
    }.get
    assert(asked() == ("KINESIS_PROXY_FAILED"                              -> true))
    assert(asked("http.nonProxyHosts" -> "127.*") == ("KINESIS_TLS_FAILED" -> false))
  }

  test("fips and dualStack choose the region's endpoints of these kinds") {
    assert(hostCalled(ConnectionOptions()) == "kinesis.us-east-1.amazonaws.com:443")
    assert(hostCalled(ConnectionOptions(fips = true)) == "kinesis-fips.us-east-1.amazonaws.com:443")
    assert(hostCalled(ConnectionOptions(dualStack = true)) == "kinesis.us-east-1.api.aws:443")
  }

  test("calls that name a stream by its ARN go to the host of its account, for data or for control") {
    val arn = "arn:aws:kinesis:us-east-1:123456789012:stream/orders"
    assert(
      hostCalled(
        ConnectionOptions(),
        _.getShardIterator(_.streamARN(arn).shardId("shardId-000000000000").shardIteratorType("LATEST"): Unit)
      ) == "123456789012.data-kinesis.us-east-1.amazonaws.com:443"
    )
    assert(
      hostCalled(ConnectionOptions(), _.describeStreamSummary(_.streamARN(arn): Unit)) ==
        "123456789012.control-kinesis.us-east-1.amazonaws.com:443"
    )
  }

  test("connectTimeout ends the wait for a host that does not answer") {
    // A full queue of connections: the kernel leaves further ones unanswered.
    Using.Manager { use =>
      val server  = use(new ServerSocket(0, 1, InetAddress.getLoopbackAddress))
      val address = new InetSocketAddress(InetAddress.getLoopbackAddress, server.getLocalPort)
      Seq.fill(8)(use(SocketChannel.open())).foreach { queued =>
        queued.configureBlocking(false)
        queued.connect(address)
      }
      def client(connectTimeout: FiniteDuration) = {
        val known = options(new URI(s"http://127.0.0.1:${server.getLocalPort}"))
        val own   = known.copy(connection = ConnectionOptions(connectTimeout = connectTimeout))
        use(KinesisClients.ofJvm.lease(own, "eu-west-1")).client
      }
      val longer = client(2.minutes).describeLimits()
      assert(fault(client(500.millis)).kind.errorClass == "KINESIS_UNREACHABLE")
      // With one limit for both, this call would have ended before.
      intercept[TimeoutException](longer.get(1, TimeUnit.SECONDS))
      longer.cancel(true)
    }.get
  }

  test("maxConnections limits the requests of a client that are under way at once; the others wait") {
    val release = new CountDownLatch(1)
    val arrived = new Semaphore(0)
    val server  = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress, 0), 0)
    val threads = Executors.newCachedThreadPool()
    server.setExecutor(threads)
    server.createContext(
      "/",
      exchange => {
        arrived.release()
        release.await()
        exchange.getResponseHeaders.set("Content-Type", "application/x-amz-cbor-1.1")
        exchange.sendResponseHeaders(200, 1)
        exchange.getResponseBody.write(0xa0)
        exchange.close()
      }
    )
    server.start()
    val narrow = options(new URI(s"http://127.0.0.1:${server.getAddress.getPort}"))
      .copy(connection = ConnectionOptions(maxConnections = 3))
    val lease = KinesisClients.ofJvm.lease(narrow, "eu-west-1")
    try {
      val calls = Seq.fill(8)(lease.client.describeLimits())
      assert(arrived.tryAcquire(3, 1, TimeUnit.MINUTES))
      assert(!arrived.tryAcquire(1, TimeUnit.SECONDS), "a fourth request came while three were under way")
      release.countDown()
      calls.foreach(_.get(1, TimeUnit.MINUTES))
    } finally {
      release.countDown()
      lease.close()
      server.stop(0)
      threads.shutdown()
    }
  }

  test("hosts of noProxy are matched by name or by the end of their name") {
    def isDirect(entry: String, host: String) = host.matches(ClientKind.patternOf(entry))
    assert(isDirect("localhost", "LOCALHOST") && !isDirect("localhost", "localhost.example.com"))
    assert(isDirect("*.amazonaws.com", "kinesis.eu-west-1.amazonaws.com") && !isDirect("*.a.com", "a.com"))
    assert(!isDirect("a.b", "axb"))
  }

  test("the SDK client sends a failed request once, without retries") {
    using((_, _) => StubServer.error(500, "InternalFailure")) { (server, client) =>
      assert(fault(client).isInstanceOf[Fault.Transient])
      assert(server.requests.size == 1)
    }
  }

  test("error codes of the service reach the fault classifier") {
    using((_, _) => StubServer.error(400, "ProvisionedThroughputExceededException")) { (_, client) =>
      assert(fault(client).isInstanceOf[Fault.Throttled])
    }
    using((_, _) => StubServer.error(400, "AccessDeniedException")) { (_, client) =>
      assert(fault(client).kind.errorClass == "KINESIS_ACCESS_DENIED")
    }
  }

  test("the request after a clock skew error is signed with the service's time") {
    val serviceTime = Instant.now.plusSeconds(3600)
    val date        = DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.ofInstant(serviceTime, ZoneOffset.UTC))
    using((_, index) => if (index == 0) StubServer.error(403, "RequestExpired", "Date" -> date) else StubServer.Empty) {
      (server, client) =>
        assert(fault(client).kind.errorClass == "KINESIS_CLOCK_SKEW")
        client.describeLimits().get(2, TimeUnit.MINUTES)
        val signed = server.requests.map(r => Instant.from(AmzDate.parse(r.headers("x-amz-date"))))
        assert(java.time.Duration.between(signed.head, signed.last).toMinutes >= 55)
    }
  }

  test("an answer that is not JSON is classified as a lost connection") {
    using((_, _) => StubServer.Answer(200, "<html>proxy</html>".getBytes)) { (_, client) =>
      assert(fault(client).kind.errorClass == "KINESIS_CONNECTION_LOST")
    }
  }

  test("a refused connection and an unknown host get different error classes") {
    // Bound but not listening: a port that nobody else can get meanwhile.
    Using.resource(new Socket) { socket =>
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress, 0))
      val lease = KinesisClients.ofJvm.lease(options(new URI(s"http://127.0.0.1:${socket.getLocalPort}")), "eu-west-1")
      try assert(fault(lease.client).kind.errorClass == "KINESIS_UNREACHABLE")
      finally lease.close()
    }
    // RFC 6761: names under .invalid never resolve.
    val nowhere = KinesisClients.ofJvm.lease(options(new URI("http://kinesis.invalid")), "eu-west-1")
    try assert(fault(nowhere.client).kind.errorClass == "KINESIS_UNKNOWN_HOST")
    finally nowhere.close()
  }

  /** What calls of both kinds fail with when a server does this to the first record of the TLS handshake, which it has read. */
  private def tlsFaults(answer: Socket => Unit): Set[String] =
    Using.resource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress)) { server =>
      val thread = new Thread(() =>
        while (!server.isClosed)
          try
            Using.resource(server.accept()) { connection =>
              val in     = new DataInputStream(connection.getInputStream)
              val header = in.readNBytes(5)
              in.readNBytes((header(3) & 0xff) << 8 | header(4) & 0xff)
              answer(connection)
            }
          catch { case _: IOException => () } // Of this connection, or the server's own end.
      )
      thread.setDaemon(true)
      thread.start()
      val endpoint = new URI(s"https://127.0.0.1:${server.getLocalPort}")
      Set[ClientKind](ClientKind.Calls, ClientKind.Writes, ClientKind.Subscriptions).map { kind =>
        val lease = KinesisClients.ofJvm.lease(options(endpoint), "eu-west-1", kind)
        // What a time limit of the client's ends has another error class.
        try
          FaultClassifier
            .classify(intercept[Exception](lease.client.describeLimits().get(60, TimeUnit.SECONDS)))
            .kind
            .errorClass
        finally lease.close()
      }
    }

  test("a server that closes the connection during the TLS handshake fails calls with KINESIS_TLS_FAILED") {
    assert(tlsFaults(_ => ()) == Set("KINESIS_TLS_FAILED"))
  }

  test("a server that resets the connection during the TLS handshake fails calls at once") {
    // A closed socket that lingers for 0 s sends RST.
    val faults = tlsFaults(_.setSoLinger(true, 0))
    assert(faults.subsetOf(Set("KINESIS_CONNECTION_LOST", "KINESIS_TLS_FAILED")))
  }

  test("a server that answers the TLS handshake in cleartext fails calls with KINESIS_TLS_FAILED") {
    val refusal = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".getBytes(US_ASCII)
    val faults  = tlsFaults { connection =>
      connection.getOutputStream.write(refusal)
      // Until the client closes the connection.
      connection.getInputStream.readAllBytes(): Unit
    }
    assert(faults == Set("KINESIS_TLS_FAILED"))
  }

  test("leases of equal options and region share a client, others have clients of their own") {
    val uri    = new URI("http://localhost:1")
    val leases = Seq(
      KinesisClients.ofJvm.lease(options(uri), "eu-west-1"),
      KinesisClients.ofJvm.lease(options(uri), "eu-west-1"),
      KinesisClients.ofJvm.lease(options(uri, "secret-2"), "eu-west-1"),
      KinesisClients.ofJvm.lease(options(uri), "us-east-1")
    )
    try {
      val clients = leases.map(_.client)
      assert((clients(0) eq clients(1)) && clients.distinct.size == 3)
    } finally leases.foreach(_.close())
  }

  test("sessions with JARs of their own share a client, unless a class of the user's gives its credentials") {
    val sessions                              = Seq.fill(2)(new ClassLoader(getClass.getClassLoader) {})
    def made(credentials: CredentialsOptions) = {
      val own    = options(new URI("http://localhost:1")).copy(credentials = credentials)
      val leases =
        sessions.map(ContextClassLoader.within(_)(KinesisClients.ofJvm.lease(own, "eu-west-1")))
      try leases.map(_.client).distinct.size
      finally leases.foreach(_.close())
    }
    val ofClass = CredentialsOptions.ProviderClass("com.example.Credentials")
    assert(made(CredentialsOptions.StaticKeys(new Secret("id"), new Secret("secret"), None)) == 1)
    assert(made(ofClass) == 2)
    assert(made(CredentialsOptions.AssumeRole(ofClass, "arn:aws:iam::111122223333:role/r", None, "session")) == 2)
  }

  test("hasWorked is true on all leases of a client after its first successful call") {
    val answers =
      Seq(StubServer.error(500, "InternalFailure"), StubServer.Empty, StubServer.error(500, "InternalFailure"))
    val server = new StubServer((_, index) => answers(index))
    val leases = Seq.fill(2)(KinesisClients.ofJvm.lease(options(server.endpoint), "eu-west-1"))
    def call() = leases.head.client.describeLimits().get(2, TimeUnit.MINUTES)
    try {
      intercept[Exception](call())
      assert(leases.forall(!_.hasWorked))
      call()
      assert(leases.forall(_.hasWorked))
      intercept[Exception](call())
      assert(leases.forall(_.hasWorked))
    } finally {
      leases.foreach(_.close())
      server.close()
    }
  }

  test("hasWorked is true of a client after a successful call of an earlier one with equal options, and of no other") {
    val server                                     = new StubServer((_, _) => StubServer.Empty)
    val clients                                    = KinesisClients.ofJvm
    def made(at: URI): KinesisClients.SharedClient =
      clients.make(KinesisClients.Key(options(at), "eu-west-1", ClientKind.Writes))
    try {
      val first = made(server.endpoint)
      first.client.describeLimits().get(2, TimeUnit.MINUTES)
      first.close()
      val later = made(server.endpoint)
      assert(later.success.isThere)
      later.close()
      val other = made(new URI("http://localhost:1"))
      assert(!other.success.isThere)
      other.close()
    } finally server.close()
  }

  /** Of a client with a profile, on a machine whose default profile names an endpoint. */
  private def leased[A](kind: ClientKind, settings: String)(test: ClientLease => A): A =
    Using.resource(new AwsHome(new URI("http://127.0.0.1:1"))) { home =>
      home.keys("default", "id", "secret", "token", "endpoint_url = http://127.0.0.1:1")
      val own =
        ClientOptions(None, None, CredentialsOptions.Profile(home.keys("own", "id", "secret", "token", settings)))
      Using.resource(KinesisClients.ofJvm.lease(own, "eu-west-1", kind))(test)
    }

  /** What the SDK reads like AWS_ENDPOINT_URL_KINESIS. */
  private def inEnvironment[A](endpoint: URI)(test: => A): A =
    SystemProperties.within("aws.endpointUrlKinesis" -> endpoint.toString)(test)

  test("an endpoint of the machine is that of the options' profile, unless the environment has one") {
    def called(settings: String) = leased(ClientKind.Calls, settings) { lease =>
      lease.isAws -> lease.client.serviceClientConfiguration.endpointOverride.toScala
    }
    assert(called("") == (true                                      -> None))
    assert(called("endpoint_url = http://localhost:4567") == (false -> Some(new URI("http://localhost:4567"))))
    inEnvironment(new URI("http://localhost:4568")) {
      assert(called("endpoint_url = http://localhost:4567") == (false -> Some(new URI("http://localhost:4568"))))
    }
  }

  test("an endpoint of the machine without a host is refused with the settings that it may be of") {
    for (endpoint <- Seq("http://user:planted@a_b:1", "localhost:4567"))
      inEnvironment(new URI(endpoint)) {
        val refused = intercept[KinesisException](leased(ClientKind.Calls, "")(_ => ()))
        assert(refused.errorClass == "KINESIS_UNKNOWN_HOST" && refused.getMessage.contains("AWS_ENDPOINT_URL_KINESIS"))
        assert(!refused.getMessage.contains("planted"))
      }
  }

  test("a client for subscriptions speaks HTTP/2 at once with a cleartext endpoint of the environment") {
    Using.resource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress)) { server =>
      server.setSoTimeout(60000)
      inEnvironment(new URI(s"http://127.0.0.1:${server.getLocalPort}"))(leased(ClientKind.Subscriptions, "") { lease =>
        val call = lease.client.describeLimits()
        Using.resource(server.accept()) { socket =>
          assert(new String(socket.getInputStream.readNBytes(14), US_ASCII) == "PRI * HTTP/2.0")
        }
        call.cancel(true)
      })
    }
  }

  test("polling and subscriptions use separate clients") {
    val uri    = new URI("http://localhost:1")
    val leases =
      Seq(ClientKind.Calls, ClientKind.Subscriptions).map(KinesisClients.ofJvm.lease(options(uri), "eu-west-1", _))
    try assert(leases.head.client ne leases(1).client)
    finally leases.foreach(_.close())
  }

  test(
    "HTTP/2 is negotiated with every TLS endpoint, whatever its name, but not in cleartext or through a proxy behind TLS"
  ) {
    def negotiates(endpoint: String, connection: ConnectionOptions = ConnectionOptions.Default) =
      ClientKind.Subscriptions.negotiates(Some(new URI(endpoint)), connection)
    def behind(proxy: String) = ConnectionOptions(proxy = Some(ProxyOptions(new URI(proxy), None, None, Nil)))
    assert(ClientKind.Subscriptions.negotiates(None, ConnectionOptions.Default))
    for (
      host <- Seq("localhost:4567", "kinesis.eu-west-1.amazonaws.com", "vpce-1.kinesis.eu-west-1.vpce.amazonaws.com")
    )
      assert(negotiates(s"https://$host") && !negotiates(s"http://$host"), host)
    assert(
      negotiates("https://a", behind("http://proxy:3128")) && !negotiates("https://a", behind("https://proxy:3128"))
    )
  }

  test("a handshake is about ALPN where the server ignores it, or its alert names it") {
    val refused = new SSLHandshakeException("Received fatal alert: no_application_protocol")
    val ignored = new UnsupportedOperationException("The server does not support ALPN with H2")
    assert(Http2Negotiation.isAboutAlpn(ignored) && Http2Negotiation.isAboutAlpn(new IOException(refused)))
    val others =
      Seq(new SSLHandshakeException("Received fatal alert: handshake_failure"), new SSLException(null: String))
    for (other <- others) assert(!Http2Negotiation.isAboutAlpn(other))
  }

  private val AmzDate = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC)
}
