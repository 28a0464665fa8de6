package io.github.kinesisspark.config

/** Every option of the connector. Each is declared once, in the group of those that make one value, beside the class of that value; the
  * reference's tables, the names that errors suggest and the Python package's tests are made from the declarations. What options mean
  * together is decided by [[SourceOptionsParser]] and [[SinkOptionsParser]].
  */
object OptionRegistry {

  /** In the order of the documentation. */
  val all: Seq[Opt[?]] = (Seq[OptionGroup](
    StreamRef,
    ClientOptions,
    StreamOptions,
    SourceOptions,
    AdmissionOptions,
    PollingOptions,
    CloudWatchOptions,
    CredentialsOptions,
    StsOptions,
    ConnectionOptions,
    ProxyOptions,
    FanOutOptions
  ) ++ CallRetries.retries ++ Seq(CallRetries, SinkOptions)).flatMap(_.options)
}
