package io.github.kinesisspark.read.coordinator

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.Generators.shardId
import io.github.kinesisspark.JvmRuntime.runtime
import io.github.kinesisspark.read.reader.{MemoryStream, ResolvedPublisher}

/** Executors and drivers of several clusters in one JVM: the engine's own classes, with a network and a service in memory. */
class RuntimesSpec extends AnyFunSpec with Matchers {
  private val Shards  = 6
  private val Records = (0 until Shards).map(n => shardId(n) -> Vector.tabulate(300)(i => s"$n-$i")).toMap
  private val All     = Records.values.flatten.toVector.sorted

  describe("a source that is stopped before it has planned") {
    it("leaves no reports in the driver") {
      val network = new MemoryNetwork
      val service = new MemoryStream(Records)
      val cluster = new MemoryCluster("one", network, service, Shards, size = 1, speed = 1, ResolvedPublisher.Polling)
      try {
        cluster.close()
        cluster.hasReports shouldBe false
      } finally {
        network.close()
        service.close()
      }
    }
  }

  describe("two drivers, of which one has two executors and the other one") {
    it("read the same stream in one JVM, each with readers, clients and reports of its own") {
      val network                          = new MemoryNetwork
      val service                          = new MemoryStream(Records)
      def cluster(name: String, size: Int) =
        new MemoryCluster(name, network, service, Shards, size, speed = 1, ResolvedPublisher.Polling)
      val one   = cluster("one", 2)
      val other = cluster("other", 1)
      try {
        one.connect()
        one.readUntil(All.size) shouldBe All
        other.readUntil(All.size) shouldBe All
        one.reporting shouldBe Set("1", "2")
        other.reporting shouldBe Set("1")
        (one.own ++ other.own).map(_.made.get) shouldBe Vector(1, 1, 1)
        // Readers that one driver releases are none of the other's.
        one.close()
        (one.own.map(_.holds), other.own.map(_.holds)) shouldBe ((Vector(false, false), Vector(true)))
      } finally {
        one.close()
        other.close()
        network.close()
        service.close()
      }
    }
  }
}
