package io.github.kinesisspark

import java.nio.file.{Files, Path}

import scala.sys.process.Process

import org.scalatest.funspec.AnyFunSpec
import org.scalatest.matchers.should.Matchers

import io.github.kinesisspark.build.SourceCommit

final class SourceCommitSpec extends AnyFunSpec with Matchers {

  private def written(root: Path, name: String, text: String): Path = {
    Files.createDirectories(root.resolve(name).getParent)
    Files.writeString(root.resolve(name), text)
  }

  private def sources(): Path = {
    val root = Files.createTempDirectory("sources-")
    written(root, "build.sbt", "")
    written(root, "project/Versions.scala", "")
    written(root, Source, "object Source")
    root
  }

  private val Source = "connector/src/main/scala/Source.scala"

  private def git(root: Path, asked: String*): String =
    Process(Seq("git", "-c", "user.name=test", "-c", "user.email=test@localhost") ++ asked, root.toFile).!!.trim

  private def committed(root: Path): String = {
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "sources")
    git(root, "rev-parse", "HEAD")
  }

  private def repository(): Path = {
    val root = sources()
    git(root, "init", "--quiet")
    root
  }

  private def of(root: Path): String = SourceCommit.of(root.toFile)

  describe("a snapshot of committed sources") {
    it("has their last commit, which commits of other files don't change") {
      val root = repository()
      val last = committed(root)
      written(root, "README.md", "changed")
      of(root) shouldBe last
      committed(root) should not be last
      of(root) shouldBe last
    }
  }

  describe("a snapshot of changed sources") {
    it("has the commit and what differs from one change to another, the same for the same sources") {
      val root  = repository()
      val last  = committed(root)
      val other =
        Seq(Source -> "object Changed", Source -> "object Changes", "connector/src/main/scala/New.scala" -> "")
          .map { case (name, text) =>
            written(root, name, text)
            of(root)
          }
      all(other) should fullyMatch regex s"$last-dirty-[0-9a-f]{12}"
      other.distinct should have size 3
      of(root) shouldBe other.last
      written(root, "project/target/streams", "what a build leaves")
      of(root) shouldBe other.last
    }
  }

  describe("a snapshot of sources without a repository") {
    it("has what differs between two of them, the same wherever they are") {
      val (one, same, other) = (sources(), sources(), sources())
      written(other, Source, "object Other")
      of(one) should fullyMatch regex "unknown-[0-9a-f]{12}"
      of(same) shouldBe of(one)
      of(other) should not be of(one)
    }
  }
}
