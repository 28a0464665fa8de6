package io.github.kinesisspark.write

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.ContextClassLoader
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.aws.{KinesisClients, OfflineClient}
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, StreamRef}
import io.github.kinesisspark.write.send.CallAnswer

class PutRecordsCallsSpec extends AnyFunSpec with Matchers {
  it("a client that another thread opens finds the classes of the task's session") {
    val found   = new java.util.concurrent.LinkedBlockingQueue[ClassLoader]
    val clients = new KinesisClients((_, success) => {
      found.add(Thread.currentThread.getContextClassLoader)
      new KinesisClients.SharedClient(new OfflineClient, success, () => ())
    })
    val session = new ClassLoader(getClass.getClassLoader) {}
    val calls   = ContextClassLoader.within(session)(
      new PutRecordsCalls(_ => options, hasWritten = false, () => false, new WriterRuntime(clients))
    )
    calls.put(StreamRef.ByName("events"), Vector.empty)
    calls.close()
    found.poll() shouldBe theSameInstanceAs(session)
  }

  it(
    "a failure of a client's first call counts as one after a success where another JVM has written for the same query"
  ) {
    for (hasWritten <- Seq(true, false)) {
      val clients =
        new KinesisClients((_, success) => new KinesisClients.SharedClient(new OfflineClient, success, () => ()))
      val calls = new PutRecordsCalls(_ => options, hasWritten, () => false, new WriterRuntime(clients))
      calls.put(StreamRef.ByName("events"), Vector.empty).get() should matchPattern {
        case CallAnswer.Failed(_, `hasWritten`, _) =>
      }
      calls.close()
    }
  }

  private val options = ClientOptions(Some("eu-west-1"), None, CredentialsOptions.DefaultChain)
}
