package io.github.kinesisspark.fuzz

import java.nio.charset.StandardCharsets.UTF_8

import io.github.kinesisspark.config.{OptionException, OptionRegistry, SinkOptions, SourceOptions}

/** Options as lines of `key=value`, for reading and for writing: they are taken, or refused by name, and no secret is repeated. */
object OptionTexts extends Target {
  override val name = "options"

  private val Secret = "never-to-be-shown-51"

  override def check(input: Array[Byte]): Unit = {
    val text    = new String(input, UTF_8)
    val options = text.linesIterator.flatMap(setting).toMap + ("secretAccessKey" -> Secret)
    for (parse <- Seq[Map[String, String] => Any](SourceOptions.parse, SinkOptions.parse))
      try {
        val taken = parse(options).toString
        Broken.unless(text.contains(Secret) || !taken.contains(Secret))(s"the secret is shown: $taken")
      } catch {
        case refused: OptionException =>
          val said = refused.getMessage
          Broken.unless(text.contains(Secret) || !said.contains(Secret))(s"the secret is shown: $said")
      }
  }

  private def setting(line: String) = line.split("=", 2) match {
    case Array(key, value) => Some(key -> value)
    case _                 => None
  }

  /** One with every option there is, and one that is taken. */
  override def seeds: Seq[Array[Byte]] = Seq(
    OptionRegistry.all.map(o => s"${o.name}=${o.default.getOrElse("64m")}").mkString("\n"),
    "streamName=orders,payments\nregion=eu-west-1\nstream.orders.region=eu-west-3\nstream.orders.startingPosition=LATEST\n" +
      "maxRecordsPerTrigger=100\nmaxTriggerDelay=1 hour 30 minutes\nreaderBufferSize=256m",
    "streamArn=arn:aws:kinesis:eu-west-1:123456789012:stream/orders\nendpoint=http://localhost:4567\nrecordPublisher=efo\n" +
      "efo.registration=none\nefo.consumerArn.orders=arn:aws:kinesis:eu-west-1:123456789012:stream/orders/consumer/app:1700000000",
    "streamName=orders\nroleArn=arn:aws:iam::123456789012:role/reader\nexternalId=x\nefo.consumerName=app\nmaxRetryDuration=off"
  ).map(_.getBytes(UTF_8))
}
