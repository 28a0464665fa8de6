package org.apache.spark.kinesisspark

import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend

/** A sink that appends the changed rows of a query in update mode, as Spark's own for Kafka does. */
trait UpdatesAsAppends extends SupportsStreamingUpdateAsAppend
