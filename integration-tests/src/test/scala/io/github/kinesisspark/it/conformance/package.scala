package io.github.kinesisspark.it

import software.amazon.awssdk.core.SdkBytes
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry

/** Short helpers that all scenarios share. */
package object conformance {
  private[conformance] def bytes(text: String): SdkBytes = SdkBytes.fromUtf8String(text)

  private[conformance] def entry(text: String, partitionKey: String): PutRecordsRequestEntry =
    PutRecordsRequestEntry.builder().partitionKey(partitionKey).data(bytes(text)).build()
}
