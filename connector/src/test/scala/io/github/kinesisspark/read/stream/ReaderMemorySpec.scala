package io.github.kinesisspark.read.stream

import org.apache.spark.SparkConf
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.read.reader.ReaderMemory

class ReaderMemorySpec extends AnyFunSpec with Matchers {

  it("the default readerBufferSize is a fifth of an executor's heap without Spark's 300 MiB, 16 MiB at least") {
    ReaderMemory.default(1300L << 20) shouldBe 200L << 20
    ReaderMemory.default(8L << 30) shouldBe (8192L - 300 << 20) / 5
    ReaderMemory.default(1L << 20) shouldBe 16L << 20
  }

  it("the heap of an executor is spark.executor.memory, in MiB where that has no unit") {
    for ((asked, heap) <- Seq("8g" -> (8L << 30), "8192" -> (8L << 30), "900m" -> (900L << 20)))
      ReaderMemory.heapOfExecutors(new SparkConf(false).set("spark.executor.memory", asked)) shouldBe heap
    ReaderMemory.heapOfExecutors(new SparkConf(false)) shouldBe 1L << 30
  }
}
