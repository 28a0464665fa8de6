package io.github.kinesisspark.aws

/** A failure that the query can't go on after.
  *
  * @param errorClass stable name for monitoring, such as `KINESIS_ACCESS_DENIED`; the message starts with it, as Spark's do
  */
class KinesisException(val errorClass: String, message: String, cause: Throwable = null)
    extends RuntimeException(s"[$errorClass] $message", cause)
