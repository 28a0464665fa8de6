package io.github.kinesisspark

import java.io.File
import java.nio.file.{Files, Path}

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.build.PinnedPlugins

final class PinnedPluginsSpec extends AnyFunSpec with Matchers {
  private val directory = Files.createTempDirectory("plugins-")

  private def jar(name: String, content: String): File = {
    val file = directory.resolve(name)
    Files.createDirectories(file.getParent)
    Files.writeString(file, content).toFile
  }

  // Of "assembly" and "scalafmt", as sha256sum prints them.
  private val pinned = Seq(
    "e020bdf568793dee747a220086c5e53c8b3af5abd959383a31297f303577efe6  sbt-assembly.jar",
    "ff0fe54ae166d1a2fbe7e8486d3fefb6b2d39c029c41e8bd9990af0a307057d8  sbt-scalafmt.jar"
  )

  private def pins(lines: Seq[String]): Path =
    Files.writeString(directory.resolve("plugins.sha256"), lines.mkString("", "\n", "\n"))

  private val jars = Seq(jar("sbt-scalafmt.jar", "scalafmt"), jar("sbt-assembly.jar", "assembly"))

  private def refusal(jars: Seq[File], lines: Seq[String] = pinned): String =
    intercept[IllegalStateException](PinnedPlugins.check(jars, pins(lines).toFile)).getMessage

  describe("the build's plug-ins") {
    it("are accepted with the bytes that were pinned, in any order") {
      PinnedPlugins.check(jars, pins(pinned).toFile)
    }

    it("are refused when a byte of one is another, with its name and what to do") {
      val tampered = refusal(Seq(jars.head, jar("tampered/sbt-assembly.jar", "assemblx")))
      tampered should (include("not those of plugins.sha256") and include("sbt-assembly.jar") and
        not include "sbt-scalafmt.jar" and include("compare the hashes with those of Maven Central"))
    }

    it("are refused when one is there that is not pinned, or one is missing") {
      refusal(jars :+ jar("evil.jar", "evil")) should include regex "Found and not pinned: [0-9a-f]{64}  evil.jar"
      refusal(jars.take(1)) should include(s"Pinned and not found: ${pinned.head}")
      refusal(jars, Nil) should include("sbt-assembly.jar")
    }
  }

  describe("project/plugins.sha256") {
    it("pins every JAR by a SHA-256 hash") {
      val file = Repository.root.resolve("project/plugins.sha256")
      all(Files.readString(file).linesIterator.toSeq) should fullyMatch regex "[0-9a-f]{64}  \\S+\\.jar"
    }
  }
}
