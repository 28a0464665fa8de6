package io.github.kinesisspark.aws

import java.lang.reflect.{InvocationTargetException, Method, Modifier}
import java.net.URI
import java.time.Instant
import java.util.Optional

import org.apache.hadoop.conf.Configuration
import software.amazon.awssdk.auth.credentials.{
  AwsBasicCredentials,
  AwsCredentials,
  AwsCredentialsProvider,
  AwsSessionCredentials
}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

/** Credentials from a class of the user's own (the option `credentialsProvider`).
  *
  * The connector's JAR carries the SDK under names of its own, while the user's class implements the interface of the SDK
  * that is on their class path, version 2's `AwsCredentialsProvider` or version 1's `AWSCredentialsProvider`. So the two
  * meet by shape, not by type: methods are found by name. [[CredentialsCache]] decides when it is asked; refreshing is its own matter.
  */
private[aws] final class UserCredentials private (
    className: String,
    provider: AnyRef,
    isShared: Boolean,
    style: UserCredentials.Style
) extends AwsCredentialsProvider
    with AutoCloseable {
  import UserCredentials._

  override def resolveCredentials(): AwsCredentials = {
    val credentials = call(className, provider, style.resolve)
      .getOrElse(fail(className, s"${style.resolve}() returned null"))
    val id     = text(call(className, credentials, style.accessKeyId))
    val secret = text(call(className, credentials, style.secretAccessKey))
    // Only session credentials have a token, and version 2 has an expiry besides.
    val token   = optional(className, credentials, style.sessionToken).flatMap(t => text(Some(t)))
    val expires = optional(className, credentials, "expirationTime").collect {
      case o: Optional[?] if o.isPresent => o.get
    }
    (id, secret) match {
      case (Some(i), Some(s)) =>
        token match {
          case Some(t) =>
            val session = AwsSessionCredentials.builder().accessKeyId(i).secretAccessKey(s).sessionToken(t)
            expires.foreach { case time: Instant => session.expirationTime(time); case _ => () }
            session.build()
          case None => AwsBasicCredentials.create(i, s)
        }
      case _ => fail(className, s"${style.resolve}() returned credentials without an access key or a secret key")
    }
  }

  override def close(): Unit = provider match {
    case closeable: AutoCloseable if !isShared => closeable.close()
    case _                                     => ()
  }

  override def toString: String = s"UserCredentials($className)"
}

private[aws] object UserCredentials {

  /** How the two versions of the SDK name things. */
  private[aws] sealed abstract class Style(
      val resolve: String,
      val accessKeyId: String,
      val secretAccessKey: String,
      val sessionToken: String
  )
  private case object Version2 extends Style("resolveCredentials", "accessKeyId", "secretAccessKey", "sessionToken")
  private case object Version1
      extends Style("getCredentials", "getAWSAccessKeyId", "getAWSSecretKey", "getSessionToken")

  /** @param parameters for the class
    * @param endpoint   of Kinesis, for a class that asks for a URI as Hadoop's do
    * @throws KinesisException `KINESIS_CREDENTIALS_PROVIDER` where there is no such class, it can't be made, or gives no credentials
    */
  def apply(
      className: String,
      parameters: Map[String, String] = Map.empty,
      endpoint: Option[URI] = None
  ): UserCredentials = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    val found  =
      try Class.forName(className, true, loader)
      catch {
        case _: ClassNotFoundException =>
          fail(
            className,
            "there is no such class on the class path. Add its JAR to the driver and the executors (--jars)"
          )
        case e: LinkageError => fail(className, s"the class can't be loaded: $e", e)
      }
    val (provider, isShared) = make(className, found, parameters, endpoint)
    val style                = Seq(Version2, Version1)
      .find(style => method(provider.getClass, style.resolve).isDefined)
      .getOrElse(fail(className, "it has neither resolveCredentials() (AWS SDK 2) nor getCredentials() (AWS SDK 1)"))
    new UserCredentials(className, provider, isShared, style)
  }

  private def make(
      className: String,
      found: Class[?],
      parameters: Map[String, String],
      endpoint: Option[URI]
  ): (AnyRef, Boolean) = {
    lazy val settings = HadoopSettings.configuration()
    lazy val own      = parameters.asJava
    val uri           = classOf[URI]
    val hadoop        = classOf[Configuration]
    val map           = classOf[java.util.Map[?, ?]]
    // Those that can have the parameters, if there are any; otherwise those that know most.
    val signatures: Seq[(Seq[Class[?]], () => Seq[AnyRef])] =
      if (parameters.nonEmpty)
        Seq((Seq(map), () => Seq(own)), (Seq(hadoop, map), () => Seq(settings, own)))
      else
        Seq(
          (Seq(uri, hadoop), () => Seq(endpoint.orNull, settings)),
          (Seq(hadoop), () => Seq(settings)),
          (Nil, () => Nil),
          (Seq(map), () => Seq(own))
        )
    try
      signatures.iterator
        .flatMap { case (types, values) =>
          maker(found, types).map { case (make, isShared) => make(values()) -> isShared }
        }
        .nextOption()
        .map { case (made, isShared) => Option(made).getOrElse(fail(className, "create() returned null")) -> isShared }
        .getOrElse(fail(className, unusable(parameters)))
    catch {
      case e: InvocationTargetException    => fail(className, s"making it failed: ${e.getCause}", e.getCause)
      case e: ReflectiveOperationException => fail(className, s"making it failed: $e", e)
    }
  }

  /** Its static method `create`, or its constructor, with arguments of these types. What `create` returns may be shared with others in the JVM, as the
    * SDK's DefaultCredentialsProvider is.
    */
  private def maker(found: Class[?], types: Seq[Class[?]]): Option[(Seq[AnyRef] => AnyRef, Boolean)] = {
    val factory = found.getMethods.find { m =>
      m.getName == "create" && m.getParameterTypes.toSeq == types && Modifier.isStatic(m.getModifiers)
    }
    def constructor = found.getDeclaredConstructors.find(_.getParameterTypes.toSeq == types)
    factory
      .map { create =>
        create.setAccessible(true)
        ((arguments: Seq[AnyRef]) => create.invoke(null, arguments: _*)) -> true
      }
      .orElse(constructor.map { made =>
        made.setAccessible(true)
        ((arguments: Seq[AnyRef]) => made.newInstance(arguments: _*).asInstanceOf[AnyRef]) -> false
      })
  }

  private def unusable(parameters: Map[String, String]): String =
    if (parameters.isEmpty)
      "it has neither a static method create() nor a constructor, without arguments or of Hadoop's Configuration"
    else "it has neither a static method create nor a constructor that takes a java.util.Map of its parameters"

  /** Public methods alone, though the class itself may be hidden. */
  private def method(of: Class[?], name: String): Option[Method] =
    of.getMethods.find(m => m.getName == name && m.getParameterCount == 0 && !m.isBridge)

  private def call(className: String, on: AnyRef, name: String): Option[AnyRef] =
    method(on.getClass, name) match {
      case None    => fail(className, s"${on.getClass.getName} has no method $name()")
      case Some(m) =>
        try {
          m.setAccessible(true)
          Option(m.invoke(on))
        } catch {
          // The user's own exception is shown as it is: it knows best.
          case e: InvocationTargetException => fail(className, s"$name() failed: ${e.getCause}", e.getCause)
          case NonFatal(e)                  => fail(className, s"$name() can't be called: $e", e)
        }
    }

  private def optional(className: String, on: AnyRef, name: String): Option[AnyRef] =
    method(on.getClass, name).flatMap(_ => call(className, on, name))

  private def text(value: Option[AnyRef]): Option[String] = value.collect { case s: String if s.nonEmpty => s }

  private def fail(className: String, why: String, cause: Throwable = null): Nothing =
    throw new KinesisException("KINESIS_CREDENTIALS_PROVIDER", s"credentialsProvider $className: $why.", cause)
}
