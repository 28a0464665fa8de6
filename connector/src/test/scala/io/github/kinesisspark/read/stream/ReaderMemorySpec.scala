package io.github.kinesisspark.read.stream

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.read.reader.ReaderMemory

class ReaderMemorySpec extends AnyFunSpec with Matchers {

  it("the default readerBufferSize is an eighth of an executor's heap, 16 MiB at least") {
    ReaderMemory.default(1L << 30) shouldBe 128L << 20
    ReaderMemory.default(8L << 30) shouldBe 1L << 30
    ReaderMemory.default(1L << 20) shouldBe 16L << 20
  }
}
