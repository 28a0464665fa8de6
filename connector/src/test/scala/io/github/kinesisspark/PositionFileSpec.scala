package io.github.kinesisspark

import java.net.URI
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.RawLocalFileSystem
import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.position.OffsetException

class PositionFileSpec extends AnyFunSpec with Matchers {
  private def in(folder: String) = new PositionFile(s"$folder/saved/positions.json", new Configuration)

  describe("a file of positions") {
    it("is read as it was written, and the second write replaces the first") {
      val folder = Files.createTempDirectory("positions-").toString
      in(folder).write("first")
      in(folder).write("second, ключ")
      in(folder).read() shouldBe Some("second, ключ")
    }

    it("is written and read where Hadoop has no FileContext for its scheme") {
      val folder = Files.createTempDirectory("positions-")
      val hadoop = new Configuration
      hadoop.set("fs.older.impl", classOf[PositionFileSpec.Older].getName)
      val file = new PositionFile(s"older://$folder/saved/positions.json", hadoop)
      file.read() shouldBe None
      file.write("first")
      file.write("second")
      file.read() shouldBe Some("second")
      in(folder.toString).read() shouldBe Some("second")
    }

    it("is refused if it is empty, which is no first start") {
      val folder = Files.createTempDirectory("positions-").toString
      in(folder).write("")
      val refused = the[OffsetException] thrownBy in(folder).read()
      refused.getMessage should include(s"$folder/saved/positions.json is an empty file, without positions")
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

object PositionFileSpec {
  final class Older extends RawLocalFileSystem {
    override def getUri: URI       = URI.create("older:///")
    override def getScheme: String = "older"
  }
}
