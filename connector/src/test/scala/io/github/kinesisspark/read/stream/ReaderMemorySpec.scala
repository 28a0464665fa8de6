package io.github.kinesisspark.read.stream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class ReaderMemorySpec extends AnyFunSpec with Matchers {

  it("the default readerBufferSize is a quarter of an executor's heap, 16 MiB at least") {
    ReaderMemory.default(1L << 30) shouldBe 256L << 20
    ReaderMemory.default(8L << 30) shouldBe 2L << 30
    ReaderMemory.default(1L << 20) shouldBe 16L << 20
  }
}
