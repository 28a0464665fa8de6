package io.github.kinesisspark

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

class PositionFileSpec extends AnyFunSpec with Matchers {
  private def in(folder: String) = new PositionFile(s"$folder/saved/positions.json", new Configuration)

  describe("a file of positions") {
    it("is read as it was written, and the second write replaces the first") {
      val folder = Files.createTempDirectory("positions-").toString
      in(folder).write("first")
      in(folder).write("second, ключ")
      in(folder).read() shouldBe Some("second, ключ")
    }

    it("leaves nothing beside it") {
      val folder = Files.createTempDirectory("positions-")
      in(folder.toString).write("text")
      folder.resolve("saved").toFile.list.filterNot(_.endsWith(".crc")) shouldBe Array("positions.json")
    }

    it("is nothing before it is written") {
      in(Files.createTempDirectory("positions-").toString).read() shouldBe None
    }
  }
}
