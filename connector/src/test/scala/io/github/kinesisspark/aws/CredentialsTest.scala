package io.github.kinesisspark.aws

import java.net.URI
import java.nio.file.Files
import java.time.Instant
import java.util.Optional
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import io.github.kinesisspark.{ContextClassLoader, HeldMonitors, SystemProperties}
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.config.{
  ConnectionOptions,
  CredentialsOptions,
  ProxyOptions,
  RoleSession,
  Secret,
  StsOptions
}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.alias.CredentialProviderFactory
import org.scalatest.funsuite.AnyFunSuite
import software.amazon.awssdk.auth.credentials.{AwsCredentials, AwsSessionCredentials}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.Using

import CredentialsOptions._

class CredentialsTest extends AnyFunSuite {

  private def resolve(options: CredentialsOptions): AwsCredentials = {
    val credentials = Credentials(options, "eu-west-1")
    try credentials.resolveCredentials()
    finally credentials.close()
  }

  private def assertKeys(
      credentials: AwsCredentials,
      id: String,
      secret: String,
      token: Option[String] = None
  ): Unit = {
    assert(credentials.accessKeyId == id && credentials.secretAccessKey == secret)
    val found = credentials match {
      case session: AwsSessionCredentials => Option(session.sessionToken)
      case _                              => None
    }
    assert(found == token)
  }

  private def problem(className: String): String = {
    val e = intercept[KinesisException](resolve(ProviderClass(className)))
    assert(e.errorClass == "KINESIS_CREDENTIALS_PROVIDER" && e.getMessage.contains(className))
    e.getMessage
  }

  test("static keys are resolved with and without a session token") {
    assertKeys(resolve(StaticKeys(new Secret("a"), new Secret("b"), None)), "a", "b")
    assertKeys(resolve(StaticKeys(new Secret("a"), new Secret("b"), Some(new Secret("c")))), "a", "b", Some("c"))
  }

  test("a key given as alias is what Hadoop's credential providers have under that name") {
    val store    = Files.createTempDirectory("aliases").resolve("keys.jceks")
    val settings = new Configuration
    settings.set("hadoop.security.credential.provider.path", s"localjceks://file$store")
    val keys = CredentialProviderFactory.getProviders(settings).get(0)
    keys.createCredentialEntry("aws.secret", "kept".toCharArray)
    keys.flush()
    assert(HadoopSettings.secret("aws.secret", settings) == "kept")
    val none = intercept[KinesisException](HadoopSettings.secret("aws.other", settings))
    assert(none.errorClass == "KINESIS_CREDENTIALS_ALIAS" && none.getMessage.contains("'aws.other'"))
    val aliased = StaticKeys(new Secret("id"), new Secret("alias:aws.missing"), None)
    assert(intercept[KinesisException](resolve(aliased)).getMessage.contains("'aws.missing'"))
  }

  test("the default chain is the SDK's, which reads system properties") {
    SystemProperties.within("aws.accessKeyId" -> "chain-id", "aws.secretAccessKey" -> "chain-secret")(
      assertKeys(resolve(DefaultChain), "chain-id", "chain-secret")
    )
  }

  test("where the environment names a web identity, nothing else gives credentials while its role is refused") {
    val token = Files.writeString(Files.createTempFile("token", ""), "token")
    val home  = new AwsHome(new URI("http://127.0.0.1:1"))
    try
      SystemProperties.within(
        "aws.roleArn"              -> "arn:aws:iam::123456789012:role/pod",
        "aws.webIdentityTokenFile" -> token.toString,
        "aws.profile"              -> home.keys("machine", "machine-id", "s", "t")
      ) {
        withSts(DefaultChain, index => if (index == 0) roleRefused else assumedByToken("pod-id", later)) {
          (credentials, sts) =>
            val fault = FaultClassifier.classify(intercept[Exception](credentials.resolveCredentials()))
            assert(fault.kind.errorClass == "KINESIS_ROLE_REFUSED")
            assertKeys(credentials.resolveCredentials(), "pod-id", "role-secret", Some("role-token"))
            assert(sts.requests.forall(_.body.contains("role%2Fpod")))
        }
      }
    finally home.close()
  }

  test("access keys come before a web identity of the environment, and blank settings name none") {
    val blank = Seq("aws.roleArn" -> "", "aws.webIdentityTokenFile" -> "", "aws.containerCredentialsFullUri" -> "")
    val role  = Seq("aws.roleArn" -> "arn:aws:iam::123456789012:role/pod", "aws.webIdentityTokenFile" -> "/no/token")
    val keys  = Seq("aws.accessKeyId" -> "key-id", "aws.secretAccessKey" -> "key-secret")
    for (settings <- Seq(blank, role))
      SystemProperties.within(settings ++ keys: _*)(assertKeys(resolve(DefaultChain), "key-id", "key-secret"))
    SystemProperties.within(role ++ Seq("aws.accessKeyId" -> "key-id", "aws.secretAccessKey" -> ""): _*) {
      val fault = FaultClassifier.classify(intercept[Exception](resolve(DefaultChain)))
      assert(fault.kind.errorClass == "KINESIS_NO_CREDENTIALS" && fault.cause.getMessage.contains("/no/token"))
    }
  }

  test("a provider of SDK version 2 with static create() yields session credentials with their expiry") {
    val found = resolve(ProviderClass(classOf[Version2Provider].getName))
    assertKeys(found, "v2-id", "v2-secret", Some("v2-token"))
    assert(found.asInstanceOf[AwsSessionCredentials].expirationTime.get == Instant.EPOCH)
  }

  test("a provider of SDK version 1 with a constructor yields keys without a token") {
    assertKeys(resolve(ProviderClass(classOf[Version1Provider].getName)), "v1-id", "v1-secret")
  }

  test("classes of the AWS SDK 1 yield their keys, with a session token if there is one") {
    SystemProperties.within("aws.accessKeyId" -> "v1-id", "aws.secretKey" -> "v1-secret") {
      val provider = classOf[com.amazonaws.auth.SystemPropertiesCredentialsProvider]
      assertKeys(resolve(ProviderClass(provider.getName)), "v1-id", "v1-secret")
    }
    assertKeys(resolve(ProviderClass(classOf[Sdk1Provider].getName)), "v1-id", "v1-secret", Some("v1-token"))
  }

  test("a provider is asked on every call, so that its own refresh takes effect") {
    val provider = UserCredentials(classOf[CountingProvider].getName)
    assert(Seq.fill(2)(provider.resolveCredentials().accessKeyId).distinct.size == 2)
  }

  test("a provider that a constructor has made is closed, and one that may be another's as well is not") {
    for ((provider, closed) <- Seq(classOf[OwnProvider] -> 1, classOf[SharedProvider] -> 0)) {
      CloseableProvider.closed = 0
      UserCredentials(provider.getName).close()
      assert(CloseableProvider.closed == closed)
    }
  }

  test("a provider class gets its parameters, or Hadoop's configuration and the endpoint, as its constructor asks") {
    val parameters = Map("id" -> new Secret("from-map"))
    assert(resolve(ProviderClass(classOf[ParameterProvider].getName, parameters)).accessKeyId == "from-map")
    val endpoint    = Some(new URI("http://localhost:1"))
    val credentials =
      Credentials(ProviderClass(classOf[HadoopProvider].getName), "eu-west-1", ConnectionOptions.Default, endpoint)
    assert(credentials.resolveCredentials().accessKeyId == "http://localhost:1 true")
    val refused = intercept[KinesisException](resolve(ProviderClass(classOf[Version1Provider].getName, parameters)))
    assert(refused.getMessage.contains("java.util.Map") && !refused.getMessage.contains("from-map"))
  }

  test("a provider class is loaded by the thread's context class loader, where Spark puts --jars") {
    val name   = classOf[LoaderProvider].getName
    val before = Thread.currentThread.getContextClassLoader
    val own    = new ClassLoader(before) {
      override def loadClass(wanted: String, resolve: Boolean): Class[?] =
        if (wanted != name) super.loadClass(wanted, resolve)
        else {
          val bytes = before.getResourceAsStream(name.replace('.', '/') + ".class").readAllBytes()
          Option(findLoadedClass(name)).getOrElse(defineClass(name, bytes, 0, bytes.length))
        }
    }
    ContextClassLoader.within(own)(assert(resolve(ProviderClass(name)).accessKeyId == own.toString))
  }

  test("an unusable provider class is refused with the reason") {
    assert(problem("com.example.Missing").contains("no such class"))
    assert(problem("java.lang.String").contains("neither resolveCredentials()"))
    assert(problem("java.lang.Integer").contains("neither a static method create() nor a constructor"))
    assert(problem(classOf[FailingProvider].getName).contains("vault is sealed"))
    assert(problem(classOf[EmptyProvider].getName).contains("without an access key"))
    assert(problem(classOf[NullProvider].getName).contains("returned null"))
  }

  test("a profile is read from the shared file, and a missing one fails without showing the file's keys") {
    val file = Files.createTempFile("credentials", "")
    Files.writeString(file, "[dev]\naws_access_key_id=dev-id\naws_secret_access_key=planted\n")
    SystemProperties.within("aws.sharedCredentialsFile" -> file.toString) {
      assertKeys(resolve(Profile("dev")), "dev-id", "planted")
      val failure  = intercept[Exception](resolve(Profile("nobody")))
      val reported = KinesisFault.exception(AwsCall.ListShards, "events", FaultClassifier.classify(failure))
      assert(reported.errorClass == "KINESIS_NO_CREDENTIALS" && reported.getMessage.contains("nobody"))
      assert(!reported.getMessage.contains("planted") && !failure.toString.contains("planted"))
    }
    Files.delete(file)
  }

  test("a login's file that can't be read doesn't end the default chain") {
    val server = new StubServer((_, _) =>
      StubServer.Answer(
        200,
        """{"AccessKeyId":"container-id","SecretAccessKey":"s","Token":"t","Expiration":"2099-01-01T00:00:00Z"}"""
          .getBytes("UTF-8")
      )
    )
    val home = new AwsHome(server.endpoint)
    try {
      val login = home.ssoLogin("unreadable", "token", later).path
      Files.delete(login)
      Files.createDirectory(login)
      SystemProperties.within(
        "aws.profile"                     -> home.session("unreadable"),
        "aws.containerCredentialsFullUri" -> server.endpoint.resolve("/keys").toString
      )(assertKeys(resolve(DefaultChain), "container-id", "s", Some("t")))
    } finally {
      home.close()
      server.close()
    }
  }

  test("a profile whose process fails is reported as missing credentials, without what the process printed") {
    val home = new AwsHome(new URI("http://localhost:1"))
    try
      for (
        (command, expected) <- Seq(
          "false"        -> "non-zero exit value",
          "echo planted" -> "not JSON",
          "echo {"       -> "not JSON"
        )
      ) {
        val threads = runtime.workers.growing("credentials")
        val profile = home.process(s"p-${command.length}", command)
        val cache   = CredentialsCache(Profile(profile), "eu-west-1", ConnectionOptions.Default, None, threads)
        val failure = intercept[Exception](
          cache.before(() => CompletableFuture.completedFuture("called")).get(1, TimeUnit.MINUTES)
        )
        cache.close()
        val reported = KinesisFault.exception(AwsCall.ListShards, "events", FaultClassifier.classify(failure))
        assert(reported.errorClass == "KINESIS_NO_CREDENTIALS")
        assert(reported.getMessage.contains(s"profile '$profile'") && reported.getMessage.contains(expected))
        assert(!reported.getMessage.contains("planted"), command)
      }
    finally home.close()
  }

  private def assumed(id: String, expires: Instant): StubServer.Answer = StubServer.Answer(
    200,
    s"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
       |<AccessKeyId>$id</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-token</SessionToken>
       |<Expiration>$expires</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>""".stripMargin
      .getBytes("UTF-8"),
    Map("Content-Type" -> "text/xml")
  )

  private def assumedByToken(id: String, expires: Instant): StubServer.Answer = {
    val plain = assumed(id, expires)
    plain.copy(body =
      new String(plain.body, "UTF-8").replace("AssumeRole", "AssumeRoleWithWebIdentity").getBytes("UTF-8")
    )
  }

  private val roleRefused = StubServer.Answer(
    403,
    ("<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>" +
      "<Message>not authorized to perform: sts:AssumeRole</Message></Error></ErrorResponse>").getBytes("UTF-8"),
    Map("Content-Type" -> "text/xml")
  )

  private def withRole[A](answers: Int => StubServer.Answer)(test: (Credentials.Provider, StubServer) => A): A = {
    val role = AssumeRole(base, "arn:aws:iam::123456789012:role/r", Some("ext-1"), "job-1")
    withSts(role, answers)(test)
  }

  private val base = StaticKeys(new Secret("base-id"), new Secret("s"), None)

  private def withSts[A](options: CredentialsOptions, answers: Int => StubServer.Answer, region: Option[String] = None)(
      test: (Credentials.Provider, StubServer) => A
  ): A = {
    val server      = new StubServer((_, index) => answers(index))
    val connection  = ConnectionOptions(sts = StsOptions(region, Some(server.endpoint)))
    val credentials = Credentials(options, "eu-west-1", connection)
    try test(credentials, server)
    finally {
      credentials.close()
      server.close()
    }
  }

  test("a role is assumed once through STS with the base keys, external ID and session name") {
    withRole(_ => assumed("role-id", Instant.parse("2099-01-01T00:00:00Z"))) { (credentials, sts) =>
      assertKeys(credentials.resolveCredentials(), "role-id", "role-secret", Some("role-token"))
      credentials.resolveCredentials()
      assert(sts.requests.size == 1, "kept until shortly before they expire")
      val Seq(request) = sts.requests: @unchecked
      val role         = "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fr"
      for (part <- Seq("Action=AssumeRole", "ExternalId=ext-1", "RoleSessionName=job-1", role))
        assert(request.body.contains(part))
      assert(request.headers("authorization").contains("Credential=base-id/"))
      assert(request.headers("authorization").contains("/eu-west-1/sts/"))
    }
  }

  test("credentials of a role are renewed before they expire") {
    withRole(index => assumed(s"role-$index", Instant.now.plusSeconds(if (index == 0) 20 else 3600))) {
      (credentials, _) =>
        val found = Seq.fill(3)(credentials.resolveCredentials().accessKeyId)
        assert(found == Seq("role-0", "role-1", "role-1"))
    }
  }

  private val later = Instant.parse("2099-01-01T00:00:00Z")

  /** With a profile for each way in which a profile gets a role. */
  private def withRolesOfProfiles[A](test: => A): A = {
    val token  = Files.writeString(Files.createTempFile("token", ""), "token-1")
    val config = Files.createTempFile("config", "")
    val role   = "role_arn = arn:aws:iam::123456789012:role/r"
    Files.writeString(
      config,
      s"""[profile keys]
         |aws_access_key_id = keys-id
         |aws_secret_access_key = planted
         |[profile of-keys]
         |$role
         |source_profile = keys
         |external_id = ext-1
         |role_session_name = job-1
         |region = eu-west-3
         |[profile of-environment]
         |$role
         |credential_source = Environment
         |[profile of-token]
         |$role
         |web_identity_token_file = $token
         |[profile of-nobody]
         |$role
         |source_profile = nobody
         |""".stripMargin
    )
    try SystemProperties.within("aws.configFile" -> config.toString)(test)
    finally Seq(token, config).foreach(Files.delete)
  }

  test(
    "a profile's role is assumed through the STS of the options, in the profile's region, with the keys of its source"
  ) {
    withRolesOfProfiles {
      withSts(Profile("of-keys"), _ => assumed("role-id", later)) { (credentials, sts) =>
        assertKeys(credentials.resolveCredentials(), "role-id", "role-secret", Some("role-token"))
        val Seq(request) = sts.requests: @unchecked
        for (part <- Seq("Action=AssumeRole", "ExternalId=ext-1", "RoleSessionName=job-1"))
          assert(request.body.contains(part))
        assert(request.headers("authorization").contains("Credential=keys-id/"))
        assert(request.headers("authorization").contains("/eu-west-3/sts/"))
      }
      withSts(Profile("of-keys"), _ => assumed("role-id", later), region = Some("us-east-2")) { (credentials, sts) =>
        credentials.resolveCredentials()
        assert(sts.requests.head.headers("authorization").contains("/us-east-2/sts/"))
      }
    }
  }

  test("a profile's role is assumed with the environment's keys or with a token, through the STS of the options") {
    withRolesOfProfiles {
      SystemProperties.within("aws.accessKeyId" -> "env-id", "aws.secretAccessKey" -> "env-secret") {
        withSts(Profile("of-environment"), _ => assumed("role-id", later)) { (credentials, sts) =>
          assert(credentials.resolveCredentials().accessKeyId == "role-id")
          assert(sts.requests.head.headers("authorization").contains("Credential=env-id/"))
        }
      }
      withSts(Profile("of-token"), _ => assumedByToken("role-id", later)) { (credentials, sts) =>
        assert(credentials.resolveCredentials().accessKeyId == "role-id")
        assert(sts.requests.head.body.contains("WebIdentityToken=token-1"))
      }
    }
  }

  test("the role of a web identity in the environment is assumed through the STS and the proxy of the options") {
    val token = Files.writeString(Files.createTempFile("token", ""), "token-1")
    Using.Manager { use =>
      val sts        = use(new StubServer((_, _) => assumedByToken("role-id", later)))
      val proxy      = use(new TunnelProxy)
      val connection = ConnectionOptions(
        proxy = Some(ProxyOptions(proxy.address, None, None, Nil)),
        sts = StsOptions(None, Some(sts.endpoint))
      )
      SystemProperties.within(
        "aws.webIdentityTokenFile" -> token.toString,
        "aws.roleArn"              -> "arn:aws:iam::123456789012:role/r",
        "aws.roleSessionName"      -> "pod-1"
      ) {
        val credentials = use(Credentials(DefaultChain, "eu-west-1", connection))
        assert(credentials.resolveCredentials().accessKeyId == "role-id")
      }
      assert(proxy.asked == Seq(sts.endpoint.getAuthority))
      for (part <- Seq("WebIdentityToken=token-1", "RoleSessionName=pod-1"))
        assert(sts.requests.head.body.contains(part))
    }.get
    Files.delete(token)
  }

  test(
    "the role of a web identity in the environment is assumed under the connector's name if the one there is blank"
  ) {
    val token = Files.writeString(Files.createTempFile("token", ""), "token-1")
    SystemProperties.within(
      "aws.webIdentityTokenFile" -> token.toString,
      "aws.roleArn"              -> "arn:aws:iam::123456789012:role/r",
      "aws.roleSessionName"      -> ""
    ) {
      withSts(DefaultChain, _ => assumedByToken("role-id", later)) { (credentials, sts) =>
        assert(credentials.resolveCredentials().accessKeyId == "role-id")
        assert(sts.requests.head.body.contains("RoleSessionName=kinesis-spark"))
      }
    }
    Files.delete(token)
  }

  test("a profile's credentials can be closed while their clients are being made") {
    val pipe = Files.createTempDirectory("pipe-").resolve("bundle")
    assert(new ProcessBuilder("mkfifo", pipe.toString).start().waitFor() == 0)
    withRolesOfProfiles {
      val connection  = ConnectionOptions(caBundle = Some(pipe.toString))
      val credentials = Credentials(Profile("of-token"), "eu-west-1", connection)
      val resolved    = Future(credentials.resolveCredentials())(ExecutionContext.global)
      // Opens when somebody reads it.
      val bundle = Files.newOutputStream(pipe)
      try Await.result(Future(credentials.close())(ExecutionContext.global), 1.minute)
      finally bundle.close()
      assert(intercept[KinesisException](Await.result(resolved, 1.minute)).errorClass == "KINESIS_CA_BUNDLE")
    }
    Files.delete(pipe)
  }

  test("a role of the options is assumed through the STS that the profile of the keys names") {
    Using.Manager { use =>
      val sts     = use(new StubServer((_, _) => assumed("role-id", later)))
      val home    = use(new AwsHome(new URI("http://127.0.0.1:1")))
      val profile = home.keys("caller", "base-id", "s", "t", s"endpoint_url = ${sts.endpoint}")
      val role    = AssumeRole(Profile(profile), "arn:aws:iam::123456789012:role/r", None, "job-1")
      val keys    = use(Credentials(role, "eu-west-1"))
      assertKeys(keys.resolveCredentials(), "role-id", "role-secret", Some("role-token"))
      assert(sts.requests.head.headers("authorization").contains("Credential=base-id/"))
    }.get
  }

  test("a profile's role whose source profile is missing fails with its name, and calls nobody") {
    withRolesOfProfiles {
      withSts(Profile("of-nobody"), _ => assumed("role-id", later)) { (credentials, sts) =>
        val fault = FaultClassifier.classify(intercept[Exception](credentials.resolveCredentials()))
        assert(fault.kind.errorClass == "KINESIS_NO_CREDENTIALS" && fault.cause.getMessage.contains("nobody"))
        assert(sts.requests.isEmpty)
      }
    }
  }

  test("the roles of a chain are assumed in order, each with the keys of the one before, by the STS of stsRegion") {
    val session = RoleSession(Some(30.minutes), Map("team" -> "data"), Some("alice"))
    val first   = AssumeRole(base, "arn:aws:iam::111111111111:role/first", None, "job", RoleSession.Plain)
    val chain   = AssumeRole(first, "arn:aws:iam::123456789012:role/r", Some("ext-1"), "job", session)
    withSts(chain, index => assumed(s"role-$index", later), region = Some("us-east-2")) { (credentials, sts) =>
      assertKeys(credentials.resolveCredentials(), "role-1", "role-secret", Some("role-token"))
      val Seq(one, two) = sts.requests: @unchecked
      assert(one.body.contains("role%2Ffirst") && !one.body.contains("ExternalId"))
      assert(one.headers("authorization").contains("Credential=base-id/"))
      assert(two.headers("authorization").contains("Credential=role-0/"))
      assert(two.headers("authorization").contains("/us-east-2/sts/"))
      assert(two.headers("x-amz-security-token") == "role-token")
      for (
        part <- Seq(
          "DurationSeconds=1800",
          "Tags.member.1.Key=team",
          "Tags.member.1.Value=data",
          "SourceIdentity=alice"
        )
      ) assert(two.body.contains(part))
    }
  }

  test(
    "a role is assumed with the token of a web identity, which is read again for each renewal, without a signature"
  ) {
    val token = Files.writeString(Files.createTempFile("token", ""), "token-1\n")
    val role  = AssumeRole(WebIdentity(token.toString), "arn:aws:iam::123456789012:role/r", None, "job")
    withSts(role, index => assumedByToken(s"role-$index", Instant.now.plusSeconds(20))) { (credentials, sts) =>
      credentials.resolveCredentials()
      Files.writeString(token, "token-2")
      assertKeys(credentials.resolveCredentials(), "role-1", "role-secret", Some("role-token"))
      assert(sts.requests.map(_.body.contains("Action=AssumeRoleWithWebIdentity")) == Seq(true, true))
      assert(sts.requests.map(_.body.linesIterator.exists(_.contains("WebIdentityToken=token-"))) == Seq(true, true))
      assert(sts.requests(1).body.contains("token-2") && !sts.requests(1).headers.contains("authorization"))
      Files.delete(token)
      val fault = FaultClassifier.classify(intercept[Exception](credentials.resolveCredentials()))
      assert(fault.kind.errorClass == "KINESIS_NO_CREDENTIALS" && fault.cause.getMessage.contains(token.toString))
    }
  }

  test("a role's credentials whose renewal fails are used until their last minute, with a try every ten seconds") {
    var now                                   = Instant.parse("2026-01-31T08:00:00Z")
    var asked                                 = 0
    var monitors                              = Seq.empty[String]
    var answer: Option[AwsSessionCredentials] = None
    def keys(id: String)                      = Some(
      AwsSessionCredentials
        .builder()
        .accessKeyId(id)
        .secretAccessKey("s")
        .sessionToken("t")
        .expirationTime(now.plusSeconds(3600))
        .build()
    )
    val role = new RenewedCredentials(
      "role r",
      AwsCall.AssumeRole,
      () => {
        asked += 1; monitors ++= HeldMonitors.here; answer.getOrElse(throw new IllegalStateException("STS is down"))
      },
      () => (),
      now = () => now,
      nanos = () => TimeUnit.MILLISECONDS.toNanos(now.toEpochMilli)
    )
    def id() = role.resolveCredentials().accessKeyId
    answer = keys("one")
    assert(Seq(id(), id()) == Seq("one", "one") && asked == 1)
    answer = None
    now = now.plusSeconds(3600 - 299)
    assert(Seq(id(), id()) == Seq("one", "one") && asked == 2)
    now = now.plusSeconds(10)
    assert(id() == "one" && asked == 3)
    now = now.plusSeconds(230)
    assert(intercept[IllegalStateException](id()).getMessage == "STS is down")
    answer = keys("two")
    assert(Seq(id(), id()) == Seq("two", "two"))
    assert(monitors.isEmpty)
  }

  test("after a renewal that has taken a minute to fail, the next one is ten seconds later") {
    var now   = Instant.parse("2026-01-31T08:00:00Z")
    var asked = 0
    val role  = new RenewedCredentials(
      "role r",
      AwsCall.AssumeRole,
      () => {
        asked += 1
        if (asked > 1) {
          now = now.plusSeconds(60)
          throw new IllegalStateException("STS hangs")
        }
        RenewedCredentials.keys("one", "s", "t", now.plusSeconds(3600))
      },
      () => (),
      now = () => now,
      nanos = () => TimeUnit.MILLISECONDS.toNanos(now.toEpochMilli)
    )
    def id() = role.resolveCredentials().accessKeyId
    assert(id() == "one")
    now = now.plusSeconds(3600 - 299)
    assert(Seq(id(), id()) == Seq("one", "one") && asked == 2)
    now = now.plusSeconds(10)
    assert(id() == "one" && asked == 3)
  }

  test("a role's credentials are renewed in time though the machine's date is late, or goes back") {
    val began         = Instant.parse("2026-01-31T08:00:00Z")
    var passed, asked = 0L
    var late          = 600L
    val role          = new RenewedCredentials(
      "role r",
      AwsCall.AssumeRole,
      () => {
        asked += 1
        RenewedCredentials.keys(s"key-$asked", "s", "t", began.plusSeconds(passed + 3600))
      },
      () => (),
      Some(1.hour),
      () => began.plusSeconds(passed - late),
      () => TimeUnit.SECONDS.toNanos(passed)
    )
    def id() = role.resolveCredentials().accessKeyId
    assert(id() == "key-1")
    passed = 3600 - 301
    assert(id() == "key-1")
    passed += 2
    assert(id() == "key-2")
    late += 7200
    passed += 3600 - 299
    assert(id() == "key-3")
  }

  test("while the machine's date is an hour ahead, a role's credentials are asked for once in ten seconds") {
    val began         = Instant.parse("2026-01-31T08:00:00Z")
    var passed, asked = 0L
    val role          = new RenewedCredentials(
      "role r",
      AwsCall.AssumeRole,
      () => {
        asked += 1
        RenewedCredentials.keys(s"key-$asked", "s", "t", began.plusSeconds(passed + 3600))
      },
      () => (),
      Some(1.hour),
      () => began.plusSeconds(passed + 3700),
      () => TimeUnit.SECONDS.toNanos(passed)
    )
    def id() = role.resolveCredentials().accessKeyId
    assert(Seq(id(), id()) == Seq("key-1", "key-1"))
    passed = 9
    assert(id() == "key-1")
    passed = 10
    assert(Seq(id(), id()) == Seq("key-2", "key-2"))
  }

  test("a refused role fails with KINESIS_ROLE_REFUSED") {
    withRole(_ => roleRefused) { (credentials, _) =>
      val fault = FaultClassifier.classify(intercept[Exception](credentials.resolveCredentials()))
      assert(fault.kind.errorClass == "KINESIS_ROLE_REFUSED" && fault.isInstanceOf[Fault.Fatal])
    }
  }
}

/** Shapes of the SDK's two generations without their types, as a user's class looks beside relocated ones. */
final class Version2Credentials {
  def accessKeyId(): String               = "v2-id"
  def secretAccessKey(): String           = "v2-secret"
  def sessionToken(): String              = "v2-token"
  def expirationTime(): Optional[Instant] = Optional.of(Instant.EPOCH)
}
final class Version2Provider private (@annotation.unused marker: Int) {
  def resolveCredentials(): Version2Credentials = new Version2Credentials
}
object Version2Provider {
  def create(): Version2Provider = new Version2Provider(1)
}

final class Version1Credentials(id: String) {
  def getAWSAccessKeyId: String = id
  def getAWSSecretKey: String   = "v1-secret"
}
final class Version1Provider {
  def getCredentials: Version1Credentials = new Version1Credentials("v1-id")
  def refresh(): Unit                     = ()
}

/** A class as users have written them for version 1 of the SDK. */
final class Sdk1Provider extends com.amazonaws.auth.AWSCredentialsProvider {
  override def getCredentials: com.amazonaws.auth.AWSCredentials =
    new com.amazonaws.auth.BasicSessionCredentials("v1-id", "v1-secret", "v1-token")
  override def refresh(): Unit = ()
}
object CloseableProvider {
  @volatile var closed = 0
}
sealed class CloseableProvider extends AutoCloseable {
  def getCredentials: Version1Credentials = new Version1Credentials("id")
  override def close(): Unit              = CloseableProvider.closed += 1
}
final class OwnProvider    extends CloseableProvider
final class SharedProvider extends CloseableProvider
object SharedProvider {
  def create(): SharedProvider = new SharedProvider
}
final class CountingProvider {
  private val calls                       = new AtomicInteger
  def getCredentials: Version1Credentials = new Version1Credentials(s"id-${calls.incrementAndGet()}")
}
final class LoaderProvider {
  def getCredentials: Version1Credentials = new Version1Credentials(getClass.getClassLoader.toString)
}
final class ParameterProvider(parameters: java.util.Map[String, String]) {
  def getCredentials: Version1Credentials = new Version1Credentials(parameters.get("id"))
}
final class HadoopProvider(uri: URI, settings: Configuration) {
  def this() = this(null, null)
  def getCredentials: Version1Credentials = new Version1Credentials(s"$uri ${settings != null}")
}
final class FailingProvider {
  def getCredentials: Version1Credentials = throw new IllegalStateException("vault is sealed")
}
final class EmptyProvider {
  def getCredentials: Version1Credentials = new Version1Credentials("")
}
final class NullProvider {
  def getCredentials: Version1Credentials = null
}
