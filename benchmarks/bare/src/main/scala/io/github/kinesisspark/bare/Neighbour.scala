package io.github.kinesisspark.bare

import java.net.URI
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

/** Polls each shard of a stream from its oldest record on, once in each pause, as a Lambda trigger or a Firehose stream does, whether calls are refused or not.
  * It ends when standard input does, and prints a JSON line: MB, refused calls and seconds.
  *
  * Arguments as `name=value`: `endpoint`, `stream`, `pause` (ms), `limit` (records of an answer).
  *
  * @see [[https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html Lambda polls each shard once a second]]
  * @see [[https://docs.aws.amazon.com/firehose/latest/dev/writing-with-kinesis-streams.html Firehose calls GetRecords once a second for each shard]]
  */
object Neighbour {
  def main(args: Array[String]): Unit = {
    val options          = Options.of(args)
    val (stream, limit)  = (options("stream"), options("limit").toInt)
    val client           = BareClient.of(URI.create(options("endpoint")), isHttp2 = false, window = 0)
    val later            = CompletableFuture.delayedExecutor(options("pause").toLong, TimeUnit.MILLISECONDS)
    val (bytes, refused) = (new AtomicLong, new AtomicLong)
    val began            = System.nanoTime()

    def poll(iterator: String): Unit = client
      .getRecords(r => r.shardIterator(iterator).limit(limit): Unit)
      .whenComplete { (answer, error) =>
        if (error == null)
          answer.records.forEach(record => bytes.addAndGet(record.data.asByteArrayUnsafe.length.toLong): Unit)
        else refused.incrementAndGet()
        later.execute(() => poll(if (error == null) answer.nextShardIterator else iterator))
      }: Unit

    BareClient.shardIds(client, stream).foreach(shard => poll(BareClient.oldest(client, stream, shard)))
    while (System.in.read() >= 0) ()
    println(
      ujson.Obj("mb" -> bytes.get / 1e6, "refused" -> refused.get.toDouble, "s" -> (System.nanoTime() - began) / 1e9)
    )
    // Its calls continue.
    Runtime.getRuntime.halt(0)
  }
}
