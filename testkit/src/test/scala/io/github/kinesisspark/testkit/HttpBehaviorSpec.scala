package io.github.kinesisspark.testkit

import org.scalatest.concurrent.Eventually
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers
import org.scalatest.time.{Millis, Seconds, Span}
import software.amazon.awssdk.http.Protocol

import scala.concurrent.duration._
import scala.util.Using

/** HTTP/2 connections that carry few streams and come to an end. */
class HttpBehaviorSpec extends AnyFunSpec with Matchers with Eventually {
  import Clients._

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(20, Seconds), Span(10, Millis))

  private def started(behavior: HttpBehavior) =
    KinesisServer.start(KinesisServerConfig(tlsPort = Some(0), http = behavior))

  it("a connection allows as many concurrent streams as the setting says") {
    Using.resource(started(HttpBehavior(maxConcurrentStreams = 3))) { server =>
      Using.resource(new RawHttp2(server.endpoint))(_.maxConcurrentStreams shouldBe 3)
    }
  }

  it("a connection gets GOAWAY after the set number of streams, and a second one once those under way are answered") {
    Using.resource(started(HttpBehavior(goAwayAfterStreams = Some(3)))) { server =>
      Using.resource(new RawHttp2(server.endpoint)) { http =>
        (1 to 2).foreach(_ => http.health() shouldBe 200)
        http.goAways shouldBe empty
        http.health() shouldBe 200
        eventually(http.goAways shouldBe Vector(RawHttp2.GoAway(Int.MaxValue, 0), RawHttp2.GoAway(5, 0)))
      }
    }
  }

  it("a connection gets GOAWAY at the set age, even if it is idle") {
    Using.resource(started(HttpBehavior(goAwayAfter = Some(50.millis)))) { server =>
      Using.resource(new RawHttp2(server.endpoint)) { http =>
        eventually(http.goAways shouldBe Vector(RawHttp2.GoAway(Int.MaxValue, 0), RawHttp2.GoAway(0, 0)))
      }
    }
  }

  it("an SDK client reads on over new connections after GOAWAY, over cleartext and TLS") {
    Using.resource(started(HttpBehavior(goAwayAfterStreams = Some(5), maxConcurrentStreams = 2))) { server =>
      server.streams.createStream("events", 1)
      server.streams.put("events", "k", "data")
      Seq(server.endpoint, server.tlsEndpoint.get).foreach { endpoint =>
        Using.resource(client(endpoint, Protocol.HTTP2, retry = true)) { sdk =>
          (1 to 12).foreach(_ => sdk.readAll("events", model.ShardInfo.id(0)) shouldBe Vector("data"))
        }
      }
    }
  }

  it("a subscription under way finishes after its connection got GOAWAY") {
    Using.resource(started(HttpBehavior(goAwayAfterStreams = Some(1)))) { server =>
      server.streams.createStream("events", 1)
      Using.resource(client(server.endpoint)) { control =>
        val arn = await(
          control.registerStreamConsumer(r => r.streamARN(server.streams.arnOf("events")).consumerName("c"))
        ).consumer.consumerARN
        Using.resource(client(server.endpoint, Protocol.HTTP2)) { sdk =>
          val subscriber = new Subscriber(sdk, arn, model.ShardInfo.id(0), Subscriber.trimHorizon).opened()
          server.streams.put("events", "k", "data")
          subscriber.texts(1) shouldBe Vector("data")
          server.streams.split("events", model.ShardInfo.id(0))
          subscriber.event().childShards should have size 2
          subscriber.completes()
        }
      }
    }
  }
}
