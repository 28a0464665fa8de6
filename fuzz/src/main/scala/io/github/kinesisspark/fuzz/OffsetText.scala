package io.github.kinesisspark.fuzz

import java.nio.charset.StandardCharsets.UTF_8

import io.github.kinesisspark.position._

/** The offset in a checkpoint: it is refused, or stays what it is when it is written and read again. */
object OffsetText extends Target {
  override val name = "offset"

  override def check(input: Array[Byte]): Unit =
    try {
      val offset  = OffsetJson.read(new String(input, UTF_8))
      val written = OffsetJson.write(offset)
      Broken.unless(OffsetJson.read(written) == offset)(s"$offset is written as $written, which is another")
    } catch { case _: OffsetException => () }

  override def seeds: Seq[Array[Byte]] = Seq(offset, damaged).map(_.getBytes(UTF_8))

  private[fuzz] val offset =
    """{"version":1,"streams":{"arn:aws:kinesis:eu-west-1:123456789012:stream/orders":{"created":1700000000000,""" +
      """"completeTo":1700000500000,"retentionHours":24,"shards":{"shardId-000000000000":"49590338271490256608559692538361571095921575989136588898",""" +
      """"shardId-000000000001":{"from":"TRIM_HORIZON","to":"AT_TIMESTAMP:1700000000000"},"shardId-000000000002":"SHARD_END"}}}}"""

  private val damaged = """{"version":2,"streams":[{"a":null,"b":1e99}]}"""
}
