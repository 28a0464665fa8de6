package io.github.kinesisspark.aws

import software.amazon.awssdk.services.kinesis.KinesisAsyncClient

/** An SDK client without a service. A test overrides the calls that it expects; any other fails with UnsupportedOperationException. */
class OfflineClient extends KinesisAsyncClient {
  override def serviceName: String = "kinesis"
  override def close(): Unit       = ()
}
