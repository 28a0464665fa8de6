package io.github.kinesisspark.aws

import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}
import java.security.MessageDigest
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import software.amazon.awssdk.utils.UserHomeDirectoryUtils

/** A file in which the AWS command line keeps a login, as JSON with secrets. The command line, other JVMs and all clients of this one use it
  * at the same time: it is replaced as a whole, and one client of this JVM renews it at a time.
  */
private[aws] final class LoginFile(val path: Path) {
  import LoginFile._

  /** @return None if nobody has logged in, or the file has no JSON object
    * @throws software.amazon.awssdk.core.exception.SdkClientException where the file can't be read
    */
  def read(): Option[ujson.Obj] =
    try
      ujson.read(Files.readString(path)) match {
        case login: ujson.Obj => Some(login)
        case _                => None
      }
    catch {
      case _: NoSuchFileException => None
      // Parsers show the text that they can't read.
      case _: ujson.ParsingFailedException => None
      case e: IOException                  => throw NoCredentials.unreadable(path, e)
    }

  /** @throws java.io.IOException where the directory can't be written to */
  def write(login: ujson.Obj): Unit = {
    // Readable to its owner alone, as temporary files are.
    val written = Files.createTempFile(path.getParent, "kinesis-spark-", ".tmp")
    try {
      Files.writeString(written, ujson.write(login))
      Files.move(written, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE): Unit
    } catch {
      case NonFatal(e) =>
        Files.deleteIfExists(written)
        throw e
    }
  }

  /** One client of this JVM at a time, which may call the service meanwhile, for a minute at most ([[ServiceClient]]): a login is good for one renewal.
    * Others of the same login wait, on threads of [[CredentialsCache]], which are there for that.
    */
  def exclusively[A](work: Shared => A): A = {
    val shared = LoginFile.all.computeIfAbsent(path, _ => new Shared)
    shared.synchronized(work(shared))
  }
}

private[aws] object LoginFile {
  private val all = new ConcurrentHashMap[Path, Shared]

  /** By all clients of this JVM that use a file. Guarded by itself. */
  final class Shared private[LoginFile] {

    /** What the service has given last, in case the file can't be written: nobody can renew the file's own login any more. */
    var renewed = Option.empty[ujson.Obj]
  }

  /** @param name of the SSO session, or the start URL of a profile without one */
  def ofSso(name: String): LoginFile = new LoginFile(home("sso").resolve(s"${hash("SHA-1", name)}.json"))

  /** @param session `login_session` of the profile */
  def ofSignIn(session: String): LoginFile = {
    val directory = sys.props
      .get("aws.loginCacheDirectory")
      .orElse(sys.env.get("AWS_LOGIN_CACHE_DIRECTORY"))
      .map(Path.of(_))
      .getOrElse(home("login"))
    new LoginFile(directory.resolve(s"${hash("SHA-256", session)}.json"))
  }

  private def home(kind: String): Path = Path.of(UserHomeDirectoryUtils.userHomeDirectory, ".aws", kind, "cache")

  private def hash(algorithm: String, name: String): String =
    MessageDigest.getInstance(algorithm).digest(name.getBytes("UTF-8")).map(byte => f"$byte%02x").mkString
}
