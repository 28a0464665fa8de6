package io.github.kinesisspark.testkit

import com.fasterxml.jackson.databind.ObjectMapper
import io.github.kinesisspark.testkit.http.FaultRuleJson
import picocli.CommandLine
import picocli.CommandLine.{Command, Option => Flag}

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.Optional
import java.util.concurrent.{Callable, CountDownLatch}
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.jdk.CollectionConverters._

/** `java -jar`: starts a server, says where in one line of JSON, and stays until it is stopped or left alone. */
@Command(
  name = "kinesis-spark-testkit",
  mixinStandardHelpOptions = true,
  description = Array("An embedded Amazon Kinesis Data Streams for tests.")
)
final class Main(parent: Optional[ProcessHandle]) extends Callable[Integer] {

  @Flag(names = Array("--port"), description = Array("Cleartext port; 0 takes a free one (default)."))
  var port: Int = 0

  @Flag(names = Array("--host"), description = Array("Address to listen on (default 127.0.0.1)."))
  var host: String = "127.0.0.1"

  @Flag(names = Array("--tls-port"), description = Array("TLS port; 0 takes a free one. No TLS if absent."))
  var tlsPort: Integer = _

  @Flag(
    names = Array("--tls-prior-knowledge-port"),
    description = Array("TLS port without ALPN; 0 takes a free one. None if absent.")
  )
  var priorKnowledgeTlsPort: Integer = _

  @Flag(
    names = Array("--tls-host"),
    description = Array("Host name or IP address in the self-signed certificate, beside localhost. Can be repeated.")
  )
  var tlsHosts: java.util.List[String] = new java.util.ArrayList[String]

  @Flag(
    names = Array("--tls-key-store"),
    description = Array("PKCS12 or JKS file with the key and certificate to serve, in place of a self-signed one.")
  )
  var tlsKeyStore: Path = _

  @Flag(names = Array("--tls-key-store-password"), description = Array("Its password, and its key's."))
  var tlsKeyStorePassword: String = ""

  @Flag(
    names = Array("--tls-certificate-file"),
    description = Array("File that gets the certificate to trust, as PEM.")
  )
  var tlsCertificateFile: Path = _

  @Flag(
    names = Array("--tls-trust-store"),
    description = Array("PKCS12 file that gets the certificate to trust, with password 'testkit'.")
  )
  var tlsTrustStore: Path = _

  @Flag(names = Array("--region"), description = Array("Region in ARNs (default us-east-1)."))
  var region: String = "us-east-1"

  @Flag(names = Array("--stream"), description = Array("Stream to create, as name:shards. Can be repeated."))
  var streams: java.util.List[String] = new java.util.ArrayList[String]

  @Flag(
    names = Array("--account"),
    description = Array(
      "Account whose signatures are accepted, as id:accessKeyId:secret, or id:accessKeyId:secret:sessionToken for the " +
        "temporary keys of a role. The first is the server's own."
    )
  )
  var accounts: java.util.List[String] = new java.util.ArrayList[String]

  @Flag(
    names = Array("--user"),
    description = Array(
      "User of one of these accounts, who is allowed what the policy in a file allows: id:name:accessKeyId:secret:file. " +
        "Can be repeated."
    )
  )
  var users: java.util.List[String] = new java.util.ArrayList[String]

  @Flag(
    names = Array("--login"),
    description = Array(
      "Login of a person to a role of one of these accounts, which is made for it: id:role:accessToken:refreshToken. " +
        "Can be repeated."
    )
  )
  var logins: java.util.List[String] = new java.util.ArrayList[String]

  @Flag(names = Array("--realistic"), description = Array("Behave as the service does: quotas, delays, refusals."))
  var realistic: Boolean = false

  @Flag(names = Array("--limits"), description = Array("Refuse calls as the service's quotas have it."))
  var limits: Boolean = false

  @Flag(names = Array("--seed"), description = Array("Seed of all that is random (default 0)."))
  var seed: Long = 0

  @Flag(names = Array("--subscription-life"), description = Array("Until a subscription ends, as in 5s (default 5m)."))
  var subscriptionLife: FiniteDuration = SubscriptionSettings().life

  @Flag(names = Array("--heartbeat"), description = Array("Until an idle subscription gets an event (default 5s)."))
  var heartbeat: FiniteDuration = SubscriptionSettings().heartbeat

  @Flag(
    names = Array("--takeover-after"),
    description = Array("Until a new subscription takes over in place of being refused (default 5s).")
  )
  var takeoverAfter: FiniteDuration = SubscriptionSettings().takeoverAfter

  @Flag(
    names = Array("--fault"),
    description = Array("Fault rule in JSON, as POST /_testkit/faults has it. Can be repeated.")
  )
  var faults: java.util.List[String] = new java.util.ArrayList[String]

  @Flag(
    names = Array("--manual-clock"),
    description = Array("A clock that stands still until POST /_testkit/clock moves it.")
  )
  var manualClock: Boolean = false

  @Flag(names = Array("--port-file"), description = Array("File that gets the same line of JSON."))
  var portFile: Path = _

  @Flag(names = Array("--exit-with-stdin"), description = Array("Exit when standard input ends."))
  var exitWithStdin: Boolean = false

  @Flag(names = Array("--parent-pid-watch"), description = Array("Exit when the process that started this one ends."))
  var watchParent: Boolean = false

  override def call(): Integer = {
    val profile = if (realistic) KinesisServerConfig.realistic else KinesisServerConfig()
    val owners  = Main.withUsers(accounts.asScala.toSeq.map(Main.account), users.asScala.toSeq)
    val known   = Main.withLogins(owners, logins.asScala.toSeq)
    val server  = KinesisServer.start(
      profile.copy(
        port = port,
        host = host,
        tlsPort = Option(tlsPort).map(_.intValue),
        tls = TlsSettings(
          Option(priorKnowledgeTlsPort).map(_.intValue),
          tlsHosts.asScala.toSeq,
          Option(tlsKeyStore).map(TlsKeyStore(_, tlsKeyStorePassword))
        ),
        region = region,
        accountId = known.headOption.fold(profile.accountId)(_.id),
        accounts = known,
        requireSignature = profile.requireSignature || known.nonEmpty,
        enforceLimits = limits || realistic,
        seed = seed,
        subscriptions =
          SubscriptionSettings(life = subscriptionLife, heartbeat = heartbeat, takeoverAfter = takeoverAfter),
        clock = if (manualClock) ManualClock() else ServiceClock.shifted()
      )
    )
    try {
      streams.asScala.map(Main.stream).foreach { case (name, shards) => server.streams.createActive(name, shards) }
      faults.asScala.map(Main.fault).foreach(server.faults.add)
      Option(tlsCertificateFile).foreach(server.writeCertificate)
      Option(tlsTrustStore).foreach(server.writeTrustStore(_, Main.TrustStorePassword))
      announce(server)
      awaitEnd()
    } finally server.close()
    0
  }

  private def announce(server: KinesisServer): Unit = {
    val facts = new ObjectMapper().createObjectNode().put("endpoint", server.endpoint.toString)
    server.tlsEndpoint.foreach(uri => facts.put("tlsEndpoint", uri.toString))
    server.priorKnowledgeTlsEndpoint.foreach(uri => facts.put("priorKnowledgeTlsEndpoint", uri.toString))
    val line = facts.put("region", region).put("pid", ProcessHandle.current.pid).toString
    // Moved into place, so that whoever waits for the file never reads half of it.
    Option(portFile).foreach { file =>
      val part = Files.writeString(file.resolveSibling(s"${file.getFileName}.part"), line)
      Files.move(part, file, StandardCopyOption.REPLACE_EXISTING)
    }
    println(line)
  }

  private def awaitEnd(): Unit = {
    val end = new CountDownLatch(1)
    if (watchParent) parent.ifPresent { starter =>
      starter.onExit.thenRun(() => end.countDown())
      ()
    }
    if (exitWithStdin) {
      val reader = new Thread(
        () => { System.in.transferTo(java.io.OutputStream.nullOutputStream()); end.countDown() },
        "kinesis-testkit-stdin"
      )
      reader.setDaemon(true)
      reader.start()
    }
    end.await()
  }
}

object Main {
  private val TrustStorePassword = "testkit"

  def main(args: Array[String]): Unit = System.exit(commandLine.execute(args: _*))

  def commandLine: CommandLine = {
    // Asked first: the parent of a process whose starter has ended is another.
    val parent = ProcessHandle.current.parent
    new CommandLine(new Main(parent))
      .registerConverter(classOf[FiniteDuration], text => duration(text))
      // In place of the whole help, in which nobody finds what was wrong.
      .setParameterExceptionHandler { (wrong, _) =>
        wrong.getCommandLine.getErr.println(s"${wrong.getMessage}. See --help.")
        wrong.getCommandLine.getCommandSpec.exitCodeOnInvalidInput
      }
  }

  /** Reads a time with its unit: `250ms`, `5s`, `5m`. */
  private[testkit] def duration(text: String): FiniteDuration = Duration(text) match {
    case finite: FiniteDuration => finite
    case _                      => throw new IllegalArgumentException(s"$text: a time such as 5s expected")
  }

  private[testkit] def fault(json: String): FaultRule =
    FaultRuleJson.parse(json).fold(error => throw new IllegalArgumentException(s"--fault $json: $error"), identity)

  /** Reads `id:accessKeyId:secret`, also with `:sessionToken`. */
  private[testkit] def account(text: String): Account = text.split(":", 4) match {
    case Array(id, key, secret)        => Account.of(id, AccessKey(key, secret))
    case Array(id, key, secret, token) => Account.of(id, AccessKey(key, secret, Some(SessionToken(token))))
    case _ => throw new IllegalArgumentException("--account: id:accessKeyId:secret[:sessionToken] expected")
  }

  /** Adds users, each as `id:name:accessKeyId:secret:file`. */
  private[testkit] def withUsers(accounts: Seq[Account], users: Seq[String]): Seq[Account] = {
    val added = users.map(_.split(":", 5)).map {
      case Array(id, name, key, secret, file) if accounts.exists(_.id == id) =>
        val policy = Files.readString(Path.of(file))
        id -> Principal.user(id, name, AccessKey(key, secret)).copy(policy = Some(policy))
      case _ =>
        throw new IllegalArgumentException(
          "--user: id:name:accessKeyId:secret:file expected, id being one of --account"
        )
    }
    accounts.map(a => a.copy(principals = a.principals ++ added.collect { case (a.id, user) => user }))
  }

  /** Adds logins, each as `id:role:accessToken:refreshToken`, with their roles. */
  private[testkit] def withLogins(accounts: Seq[Account], logins: Seq[String]): Seq[Account] = {
    val added = logins.map(_.split(":", 4)).map {
      case Array(id, role, access, refresh) if accounts.exists(_.id == id) =>
        id -> Login(s"arn:aws:iam::$id:role/$role", access, Some(refresh))
      case _ =>
        throw new IllegalArgumentException(
          "--login: id:role:accessToken:refreshToken expected, id being one of --account"
        )
    }
    accounts.map { account =>
      val own = added.collect { case (account.id, login) => login }
      account.copy(roles = account.roles ++ own.map(_.role).distinct.map(Role(_, trusts = Nil)), logins = own)
    }
  }

  /** Reads `name:shards`; one shard if only a name is given. */
  private[testkit] def stream(text: String): (String, Int) = text.split(':') match {
    case Array(name)                                      => (name, 1)
    case Array(name, count) if count.matches("[1-9]\\d*") => (name, count.toInt)
    case _ => throw new IllegalArgumentException(s"--stream $text: name:shards expected, as in events:4")
  }
}
