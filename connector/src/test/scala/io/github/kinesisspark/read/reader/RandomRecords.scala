package io.github.kinesisspark.read.reader

import java.time.Instant

import scala.util.Random

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.Record

/** Records of any size and key, for tests of what reads them. */
private[reader] object RandomRecords {

  /** @param n       its place among others: later ones have greater sequence numbers
    * @param atLimit a size at a limit of the reader under test
    */
  def record(random: Random, n: Int, atLimit: => Int): Record = {
    val data = new Array[Byte](
      random.nextInt(20) match {
        case 0 => 300000
        case 1 => 16385
        case 2 => atLimit
        case 3 => 0
        case _ => random.nextInt(3000)
      }
    )
    random.nextBytes(data)
    val key = random.nextInt(10) match {
      case 0 => null
      case 1 => random.nextString(1 + random.nextInt(256)).filterNot(_.isSurrogate) + "ü€𝄞 \"\\\n"
      case _ => random.alphanumeric.take(1 + random.nextInt(256)).mkString
    }
    Record.builder
      .data(SdkBytes.fromByteArray(data))
      .partitionKey(key)
      .sequenceNumber((if (n < 5) BigInt(n + 1) else BigInt(10).pow(54) + n).toString)
      .approximateArrivalTimestamp(Instant.ofEpochMilli(1700000000000L + random.nextInt(100000)))
      .build
  }

  /** All that can be compared. */
  def shown(records: Array[KinesisRecord]): Vector[(String, Option[String], Vector[Byte], Long, Long)] =
    records.toVector.map(r => (r.sequenceNumber.text, Option(r.partitionKey), r.data.toVector, r.arrivalMillis, r.size))
}
