package io.github.kinesisspark.aws

import java.net.URI
import java.nio.file.Files
import java.security.KeyPairGenerator
import java.security.interfaces.{ECPrivateKey, ECPublicKey}
import java.security.spec.ECGenParameterSpec
import java.time.Instant
import java.util.{Base64, UUID}

/** Profiles and logins as the AWS command line leaves them: a config file, which JVM and SDK read from now on, and the files of logins below
  * HOME, which is a directory of the tests. Names are used by nobody else.
  *
  * @param endpoint of the services of logins
  */
final class AwsHome(endpoint: URI) extends AutoCloseable {
  import AwsHome._

  private val run    = UUID.randomUUID.toString.take(8)
  private val config = Files.createTempFile("aws-config-", "")
  private val before = Option(System.setProperty(ConfigFile, config.toString))

  private var sections = Seq(
    s"""[services local-$run]
       |sso =
       |  endpoint_url = $endpoint
       |sso_oidc =
       |  endpoint_url = $endpoint
       |signin =
       |  endpoint_url = $endpoint""".stripMargin
  )

  /** The login of an SSO session, for a profile of which this makes the name. */
  def session(name: String, account: String = Account, role: String = "reader"): String = {
    val profile = profileOf(name, s"sso_session = $name-$run\nsso_account_id = $account\nsso_role_name = $role")
    add(s"[sso-session $name-$run]\nsso_region = us-east-1\nsso_start_url = https://$name.awsapps.com/start")
    profile
  }

  /** A profile of SSO without a session. */
  def legacy(name: String, role: String = "reader"): String =
    profileOf(
      name,
      s"sso_start_url = ${startUrl(name)}\nsso_region = us-east-1\nsso_account_id = $Account\nsso_role_name = $role"
    )

  /** A profile of `aws login`. */
  def signIn(name: String): String = profileOf(name, s"login_session = ${arnOf(name)}\nregion = us-east-1")

  /** A profile of temporary keys.
    *
    * @param more further settings
    */
  def keys(name: String, id: String, secret: String, token: String, more: String = ""): String =
    profileOf(name, s"aws_access_key_id = $id\naws_secret_access_key = $secret\naws_session_token = $token\n$more")

  /** A profile of a program that prints keys. */
  def process(name: String, command: String): String = profileOf(name, s"credential_process = $command")

  /** A profile of a role that is assumed with another profile. */
  def role(name: String, arn: String, source: String): String =
    profileOf(name, s"role_arn = $arn\nsource_profile = $source")

  /** What `aws sso login` leaves. */
  def ssoLogin(
      name: String,
      accessToken: String,
      expires: Instant,
      refreshToken: Option[String] = None,
      isLegacy: Boolean = false
  ): LoginFile = {
    val login = ujson.Obj("startUrl" -> startUrl(name), "region" -> "us-east-1", "accessToken" -> accessToken)
    login("expiresAt") = expires.toString
    refreshToken.foreach { token =>
      login("clientId") = "client"
      login("clientSecret") = ClientSecret
      login("refreshToken") = token
    }
    kept(LoginFile.ofSso(if (isLegacy) startUrl(name) else s"$name-$run"), login)
  }

  /** What `aws login` leaves. */
  def signInLogin(
      name: String,
      expires: Instant,
      refreshToken: String,
      keys: (String, String, String) = ("ASIAOLD", "old-secret", "old-token")
  ): LoginFile = kept(
    LoginFile.ofSignIn(arnOf(name)),
    ujson.Obj(
      "accessToken" -> ujson.Obj(
        "accessKeyId"     -> keys._1,
        "secretAccessKey" -> keys._2,
        "sessionToken"    -> keys._3,
        "accountId"       -> Account,
        "expiresAt"       -> expires.toString
      ),
      "tokenType"    -> "aws_sigv4",
      "clientId"     -> "arn:aws:signin:::devtools/same-device",
      "refreshToken" -> refreshToken,
      "idToken"      -> "id-token",
      "dpopKey"      -> newKey()
    )
  )

  override def close(): Unit = {
    before.fold(System.clearProperty(ConfigFile))(System.setProperty(ConfigFile, _))
    Files.delete(config)
  }

  private def startUrl(name: String) = s"https://$name-$run.awsapps.com/start"
  private def arnOf(name: String)    = s"arn:aws:iam::$Account:user/$name-$run"

  private def profileOf(name: String, properties: String): String = {
    add(s"[profile $name]\n$properties\nservices = local-$run")
    name
  }

  private def add(section: String): Unit = {
    sections :+= section
    Files.writeString(config, sections.mkString("\n")): Unit
  }

  private def kept(file: LoginFile, login: ujson.Obj): LoginFile = {
    Files.createDirectories(file.path.getParent)
    file.write(login)
    file
  }
}

object AwsHome {
  val Account: String      = "111122223333"
  val ClientSecret: String = "planted-client-secret-00000000000011"

  private val ConfigFile = "aws.configFile"

  /** A private key for `aws login`, in PEM as RFC 5915 has it. */
  private def newKey(): String = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec("secp256r1"))
    val pair     = generator.generateKeyPair()
    val point    = pair.getPublic.asInstanceOf[ECPublicKey].getW
    val number   = bytes(pair.getPrivate.asInstanceOf[ECPrivateKey].getS)
    val publicly = bytes(point.getAffineX) ++ bytes(point.getAffineY)
    val der      =
      hex("30770201010420") ++ number ++ hex("a00a06082a8648ce3d030107a14403420004") ++ publicly
    val lines = Base64.getMimeEncoder(64, "\n".getBytes).encodeToString(der)
    s"-----BEGIN EC PRIVATE KEY-----\n$lines\n-----END EC PRIVATE KEY-----\n"
  }

  private def hex(text: String): Array[Byte] = text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  private def bytes(number: java.math.BigInteger): Array[Byte] = {
    val raw = number.toByteArray.takeRight(32)
    Array.fill[Byte](32 - raw.length)(0) ++ raw
  }
}
