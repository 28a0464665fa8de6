package io.github.kinesisspark

import java.nio.charset.StandardCharsets.ISO_8859_1

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.jar.{ConnectorJar, WireFormat}
import io.github.kinesisspark.read.task.KinesisInputPartition

class FromDriverSpec extends AnyFunSpec with Matchers {
  private val partition = KinesisInputPartition(Vector.empty, Map.empty, Vector("executor_host_1"))

  describe("a partition from the driver") {
    it("is read by the same version of the JAR") {
      WireFormat.read[AnyRef](WireFormat.write(partition)) shouldBe partition
    }

    it("is refused by another version, which names both and where they are") {
      val own   = ConnectorJar.name
      val other = own.init + "?"
      // As another version writes it: the two differ in the name alone.
      val written = new String(WireFormat.write(partition), ISO_8859_1).replace(own, other).getBytes(ISO_8859_1)
      val refusal = intercept[IllegalArgumentException](WireFormat.read[AnyRef](written)).getMessage
      refusal shouldBe s"[KINESIS_WRONG_JAR] The driver has $other (${ConnectorJar.place}), and executor ? has $own (${ConnectorJar.place}). " +
        "Put the same JAR on the driver and on all executors. (See docs/reference/errors.md#kinesis_wrong_jar)"
    }
  }
}
