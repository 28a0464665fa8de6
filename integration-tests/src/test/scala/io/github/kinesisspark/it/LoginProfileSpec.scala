package io.github.kinesisspark.it

import java.net.{URI, URLClassLoader}
import java.nio.file.Files
import java.time.Instant
import java.util.concurrent.TimeUnit

import org.scalatest.BeforeAndAfterEach
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.ContextClassLoader
import io.github.kinesisspark.aws.{AwsCall, AwsHome, Fault, FaultClassifier, KinesisClients, KinesisFault, TunnelProxy}
import io.github.kinesisspark.config._
import io.github.kinesisspark.testkit._

/** Clients of profiles that a person has logged in to, and of profiles of roles, on a server that verifies signatures and has the services of logins. All goes over
  * TLS with a CA of the server's own. Kinesis is called directly, the services of logins through a proxy with a password.
  */
final class LoginProfileSpec extends AnyFunSpec with Matchers with BeforeAndAfterEach {
  import LoginProfileSpec._

  private var server: KinesisServer = _
  private var proxy: TunnelProxy    = _
  private var home: AwsHome         = _

  override protected def beforeEach(): Unit = {
    server = KinesisServer.start(config)
    proxy = new TunnelProxy(login = Some("user:right"))
    home = new AwsHome(new URI(s"https://localhost:${server.tlsEndpoint.get.getPort}"))
  }

  override protected def afterEach(): Unit = {
    home.close()
    proxy.close()
    server.close()
  }

  private lazy val bundle = Files.createTempFile("ca-", ".pem")

  private def connection = {
    server.writeCertificate(bundle)
    ConnectionOptions(
      caBundle = Some(bundle.toString),
      proxy = Some(ProxyOptions(proxy.address, Some("user"), Some(new Secret("right")), Seq("127.0.0.1"))),
      sts = StsOptions(None, server.tlsEndpoint)
    )
  }

  /** What a call to Kinesis fails with, if it does. */
  private def failureOf(credentials: CredentialsOptions, how: ConnectionOptions = connection): Option[Fault] = {
    val options = ClientOptions(None, server.tlsEndpoint, credentials, how)
    val lease   = KinesisClients.ofJvm.lease(options, server.region)
    try
      lease.client
        .describeLimits()
        .handle[Option[Fault]]((_, e) => Option(e).map(FaultClassifier.classify))
        .get(60, TimeUnit.SECONDS)
    finally lease.close()
  }

  private def works(profile: String): Unit =
    withClue(s"$profile: ")(failureOf(CredentialsOptions.Profile(profile)).map(messageOf) shouldBe None)

  private def messageOf(fault: Fault): String = KinesisFault.exception(AwsCall.ListShards, "orders", fault).getMessage

  private def refused(credentials: CredentialsOptions, errorClass: String): String = {
    val fault = failureOf(credentials).getOrElse(fail("the call succeeded"))
    fault.kind.errorClass shouldBe errorClass
    fault shouldBe a[Fault.Fatal]
    messageOf(fault)
  }

  private def refused(profile: String, errorClass: String = "KINESIS_LOGIN_REQUIRED"): String =
    refused(CredentialsOptions.Profile(profile), errorClass)

  /** With a core-site.xml that has a setting, on the class path of the thread. Hadoop takes secrets from its settings, too. */
  private def withHadoopSetting[A](name: String, value: String)(test: => A): A = {
    val directory = Files.createTempDirectory("hadoop-")
    val property  = s"<property><name>$name</name><value>$value</value></property>"
    Files.writeString(directory.resolve("core-site.xml"), s"<configuration>$property</configuration>")
    val loader = new URLClassLoader(Array(directory.toUri.toURL), Thread.currentThread.getContextClassLoader)
    ContextClassLoader.within(loader)(test)
  }

  private def later  = Instant.now.plusSeconds(3600)
  private def before = Instant.now.minusSeconds(3600)

  describe("a profile of SSO") {
    it("calls with keys of its role, with an SSO session and without one") {
      home.session("new")
      home.ssoLogin("new", "token-0", later)
      works("new")
      home.legacy("old")
      home.ssoLogin("old", "token-0", later, isLegacy = true)
      works("old")
      server.calls.count("GetRoleCredentials") shouldBe 2
      server.calls.count("CreateToken") shouldBe 0
    }

    it("asks through the connection's proxy, with its password, and trusts the connection's CA") {
      home.session("new")
      home.ssoLogin("new", "token-0", before, Some("refresh-0"))
      works("new")
      proxy.asked.distinct shouldBe Seq(s"localhost:${server.tlsEndpoint.get.getPort}")
    }

    it("asks through a proxy whose password Hadoop's credential providers have") {
      home.session("new")
      home.ssoLogin("new", "token-0", later)
      val aliased = connection.proxy.map(_.copy(password = Some(new Secret("alias:proxy.password"))))
      withHadoopSetting("proxy.password", "right")(
        failureOf(CredentialsOptions.Profile("new"), connection.copy(proxy = aliased)).map(messageOf) shouldBe None
      )
      proxy.asked should not be empty
    }

    it("whose token has expired renews it, and keeps the new tokens beside what the file had") {
      home.session("new")
      val file = home.ssoLogin("new", "expired", before, Some("refresh-0"))
      works("new")
      val login = file.read().get
      (login("accessToken").str, login("clientSecret").str) shouldBe (("access-token-2", AwsHome.ClientSecret))
      login("refreshToken").str should startWith("refresh-token-")
      Instant.parse(login("expiresAt").str) should be > Instant.now.plusSeconds(3000)
    }

    it("that the default chain names by AWS_PROFILE works in the same way") {
      val profile = Option(System.setProperty("aws.profile", home.session("new")))
      try {
        home.ssoLogin("new", "expired", before, Some("refresh-0"))
        failureOf(CredentialsOptions.DefaultChain).map(messageOf) shouldBe None
        proxy.asked should not be empty
      } finally profile.fold(System.clearProperty("aws.profile"))(System.setProperty("aws.profile", _))
    }

    it("is the source of another profile's role") {
      home.session("new")
      home.ssoLogin("new", "token-0", later)
      home.role("assumed", Second, source = "new")
      works("assumed")
      server.calls.count("AssumeRole") shouldBe 1
    }

    it("whose token can't be renewed fails with the command that helps, and with no token") {
      home.session("new")
      home.ssoLogin("new", "planted-access", before, Some("planted-refresh"))
      val message = refused("new")
      message should (include("InvalidGrantException") and include("aws sso login --profile new") and
        not include "planted")
      server.calls.count("CreateToken") shouldBe 1
    }

    it("without a login, with a token that AWS does not know, or an expired one of no session fails so, too") {
      home.session("none")
      refused("none") should include("aws sso login --profile none")
      home.session("unknown")
      home.ssoLogin("unknown", "planted-access", later)
      refused("unknown") should (include("UnauthorizedException") and not include "planted")
      home.legacy("old")
      home.ssoLogin("old", "token-0", before, isLegacy = true)
      refused("old") should include("its login expired at")
    }

    it("whose role is not the person's fails with KINESIS_ROLE_REFUSED") {
      home.session("new", role = "other")
      home.ssoLogin("new", "token-0", later)
      refused("new", "KINESIS_ROLE_REFUSED") should (include("No access") and include("sso_role_name"))
    }
  }

  describe("a profile of aws login") {
    it("calls with the keys of its file until five minutes before they expire") {
      home.signIn("person")
      home.signInLogin("person", later, "refresh-0", (Kept.id, Kept.secret, "kept-token"))
      works("person")
      server.calls.count("CreateOAuth2Token") shouldBe 0
    }

    it("gets keys with its refresh token and a proof that it has the private key, through the connection's proxy") {
      home.signIn("person")
      val file = home.signInLogin("person", before, "refresh-0")
      val key  = file.read().get("dpopKey")
      works("person")
      proxy.asked.distinct shouldBe Seq(s"localhost:${server.tlsEndpoint.get.getPort}")
      val login = file.read().get
      login("refreshToken").str should startWith("refresh-token-")
      login("accessToken")("accessKeyId").str should startWith("ASIASESSION")
      (login("accessToken")("accountId").str, login("dpopKey")) shouldBe ((AwsHome.Account, key))
    }

    it("whose keys can't be renewed fails with the command that helps, and with no token") {
      home.signIn("person")
      home.signInLogin("person", before, "planted-refresh")
      refused("person") should (include("aws login --profile person") and include("The refresh token has expired") and
        not include "planted")
      server.calls.count("CreateOAuth2Token") shouldBe 1
    }
  }

  describe("a profile of a role") {
    it("is assumed with another profile's keys at the connection's address of STS, whose CA it trusts") {
      home.keys("plain", Kept.id, Kept.secret, "kept-token")
      home.role("assumed", Third, source = "plain")
      works("assumed")
      server.calls.count("AssumeRole") shouldBe 1
    }

    it("that does not trust the caller fails with KINESIS_ROLE_REFUSED") {
      home.keys("plain", Kept.id, Kept.secret, "kept-token")
      home.role("assumed", Second, source = "plain")
      refused("assumed", "KINESIS_ROLE_REFUSED") should include("not authorized to perform: sts:AssumeRole")
    }
  }
}

object LoginProfileSpec {
  private val Reader = s"arn:aws:iam::${AwsHome.Account}:role/reader"
  private val Second = s"arn:aws:iam::${AwsHome.Account}:role/second"
  private val Third  = s"arn:aws:iam::${AwsHome.Account}:role/third"
  private val Kept   = AccessKey("ASIAKEPT", "kept-secret", Some(SessionToken("kept-token")))

  private val config = KinesisServerConfig(
    tlsPort = Some(0),
    accountId = AwsHome.Account,
    requireSignature = true,
    accounts = Seq(
      Account(
        AwsHome.Account,
        Seq(Principal.root(AwsHome.Account, Kept)),
        Seq(Role(Reader, trusts = Nil), Role(Second, trusts = Seq(Reader)), Role(Third, trusts = Seq(AwsHome.Account))),
        Seq(Login(Reader, "token-0", Some("refresh-0")))
      )
    )
  )
}
