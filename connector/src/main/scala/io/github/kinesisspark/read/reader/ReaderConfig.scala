package io.github.kinesisspark.read.reader

import io.github.kinesisspark.config.{ClientOptions, PollingOptions}
import io.github.kinesisspark.position.StreamArn

/** What an executor needs to read for one source of one query. Goes along with orders and tasks; holds credentials, whose
  * own `toString` hides them.
  *
  * @param sourceId       one source of one query run; a restarted query is another
  * @param bufferBytes    memory for records in one executor, which shares the largest of those of its sources
  * @param failOnDataLoss whether records that are gone before they were read fail the query
  * @param batch          of a batch read, how its tasks read: it has no readers that live longer
  * @param hasRead        whether some executor has read for this query before: then a host that can't be found here is an outage, and no mistake
  */
final case class ReaderConfig(
    sourceId: String,
    streams: Map[StreamArn, StreamAccess],
    bufferBytes: Long,
    polling: PollingOptions,
    failOnDataLoss: Boolean,
    batch: Option[ResolvedPublisher] = None,
    hasRead: Boolean = false
)

final case class StreamAccess(client: ClientOptions, region: String)
