package io.github.kinesisspark.aws

import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.kinesisspark.error.OneLine

/** Answers that the SDK decodes, because the connector's faster decoders meet something in them that they don't expect. Thread-safe. */
private[kinesisspark] object SdkDecoding {
  private val log    = LoggerFactory.getLogger(getClass)
  private val logged = ConcurrentHashMap.newKeySet[String]()

  /** So many causes are logged in a JVM, as some have words of the server in them. */
  private val MostCauses = 100

  /** What a decoder doesn't expect. It has no stack trace, as each answer may have one of it. */
  private final class Unexpected(expected: String) extends RuntimeException(s"expected $expected", null, false, false)

  def unexpected(expected: String): Nothing = throw new Unexpected(expected)

  def check(condition: Boolean, expected: String): Unit = if (!condition) unexpected(expected)

  def checkUtf8(text: Array[Byte], from: Int, length: Int): Unit = {
    var i     = from
    val until = from + length
    while (i < until && text(i) >= 0) i += 1
    if (i < until)
      try UTF_8.newDecoder.decode(ByteBuffer.wrap(text, i, until - i)): Unit
      catch { case _: CharacterCodingException => unexpected("UTF-8") }
  }

  /** @return what a decoder makes of an answer, or why the SDK is to decode it */
  def unless[A](decoded: => A): Either[String, A] =
    try Right(decoded)
    catch {
      case cause: Unexpected => Left(cause.getMessage)
      case NonFatal(e)       => Left(OneLine(e.toString))
    }

  /** Logs each cause once in this JVM. */
  def report(call: AwsCall, where: => String, cause: String): Unit =
    if (logged.size < MostCauses && logged.add(s"$call: $cause"))
      log.warn(
        s"The AWS SDK decodes an answer of $call in place of the connector, which takes more CPU: $cause, $where. " +
          "Further answers with this cause are not logged."
      )
}
