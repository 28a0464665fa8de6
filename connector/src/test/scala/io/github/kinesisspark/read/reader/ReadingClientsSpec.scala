package io.github.kinesisspark.read.reader

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.ContextClassLoader
import io.github.kinesisspark.Generators.stream
import io.github.kinesisspark.aws.{ClientKind, KinesisClients}
import io.github.kinesisspark.config.{ClientOptions, CredentialsOptions, PollingOptions}
import io.github.kinesisspark.runtime.VirtualTime

class ReadingClientsSpec extends AnyFunSpec with Matchers {
  describe("the clients of readers") {
    it("find the classes of the session that made them, whichever thread needs one first") {
      val scene   = new Scene
      val session = new ClassLoader(getClass.getClassLoader) {}
      ContextClassLoader.within(session)(scene.clients).of(stream, ClientKind.Calls)
      scene.classes shouldBe theSameInstanceAs(session)
    }

    it("are closed together, each of which was leased once") {
      val scene = new Scene
      import scene._
      for (_ <- 1 to 2; kind <- Seq(ClientKind.Calls, ClientKind.Subscriptions)) clients.of(stream, kind)
      clients.prepare(stream, ClientKind.Calls)
      opened shouldBe 2
      clients.close()
      time.pass(KinesisClients.IdleTime)
      closed shouldBe 2
    }

    it("are closed at once if they are made after the others were closed") {
      val scene = new Scene
      import scene._
      clients.close()
      clients.prepare(stream, ClientKind.Calls)
      opened shouldBe 1
      time.pass(KinesisClients.IdleTime)
      closed shouldBe 1
    }

    it("have worked once some executor has read for the query") {
      val scene = new Scene
      import scene._
      val client = clients.of(stream, ClientKind.Calls)
      client.hasWorked() shouldBe false
      hasRead = true
      client.hasWorked() shouldBe true
    }
  }

  private final class Scene {
    val time = new VirtualTime
    import time.runtime

    var opened  = 0
    var closed  = 0
    var hasRead = false

    var classes = Option.empty[ClassLoader].orNull

    lazy val clients: ReadingClients = {
      val access = StreamAccess(ClientOptions(None, None, CredentialsOptions.DefaultChain), "us-east-1")
      val config =
        ReaderConfig("source", Map(stream -> access), 1 << 20, PollingOptions.Default, failOnDataLoss = true)
      val ofProcess = new KinesisClients({ (_, success) =>
        opened += 1
        classes = Thread.currentThread.getContextClassLoader
        new KinesisClients.SharedClient(new StubKinesis, success, () => closed += 1)
      })
      new ReadingClients(config, ofProcess, () => hasRead)
    }
  }
}
