import scala.sys.process.{Process, ProcessLogger}
import scala.util.Try
import scala.xml.{Elem, Node}
import scala.xml.transform.{RewriteRule, RuleTransformer}

import sbt._
import sbt.Keys._
import sbtassembly.AssemblyKeys._
import com.github.sbt.sbom.BomSbtPlugin.autoImport._

/** A connector's JAR as an artifact of Maven: assembled, with a POM that has no dependencies, as all of them are in it. */
object Publishing {

  /** Where `sbt publish` leaves the artifacts of all lines, below the build's folder. */
  val Repository = "dist/maven"

  private val Site = "https://github.com/kinesisspark/kinesis-spark"

  def settings(line: SparkLine): Seq[Setting[_]] = Seq(
    description := s"Amazon Kinesis Data Streams for Apache Spark ${line.name}: source and sink of Structured Streaming",
    homepage       := Some(url(Site)),
    licenses       := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0.txt")),
    scmInfo        := Some(ScmInfo(url(Site), s"scm:git:$Site.git")),
    developers     := List(Developer("kinesis-spark", "The kinesis-spark project", "", url(Site))),
    versionScheme  := Some("semver-spec"),
    publishTo      := Some(MavenCache("dist", (ThisBuild / baseDirectory).value / Repository)),
    pomPostProcess := (pom => new RuleTransformer(withoutDependencies).transform(pom).head),
    Compile / packageBin / publishArtifact := false,
    Compile / assembly / artifact          := (Compile / packageBin / artifact).value,
    // Not the compiler's own: a warning of scaladoc is no error.
    Compile / doc / scalacOptions := Seq("-Xsource:3", "-Xsource-features:case-apply-copy-access", "-nowarn"),
    assembly / packageOptions     := Seq(
      Package.ManifestAttributes(
        "Implementation-Title"   -> s"${name.value}_${scalaBinaryVersion.value}",
        "Implementation-Version" -> version.value,
        "Implementation-Commit"  -> commit.value,
        "Automatic-Module-Name"  -> "io.github.kinesisspark",
        "Built-For-Spark"        -> line.name,
        "Built-For-Scala"        -> scalaBinaryVersion.value
      ),
      // The same sources make the same bytes.
      Package.FixedTimestamp(Some(1262304000000L))
    ),
    bomFormat              := "json",
    bomFileName            := "bom.json",
    includeBomTimestamp    := false,
    includeBomSerialNumber := false,
    enableBomSha3Hashes    := false,
    Compile / resourceGenerators += papers.taskValue
  ) ++ addArtifact(Compile / assembly / artifact, assembly).settings

  /** The last commit of what the JARs are made from, so that other commits change no byte of them; `unknown` without a repository. */
  private val commit = Def.setting {
    val root                = (ThisBuild / baseDirectory).value
    val sources             = Seq("--", "build.sbt", "project", "connector/src/main")
    def git(asked: String*) =
      Try(Process("git" +: (asked ++ sources), root).!!(ProcessLogger(_ => ())).trim).getOrElse("")
    val last = git("log", "-1", "--format=%H")
    if (last.isEmpty) "unknown" else if (git("status", "--porcelain").isEmpty) last else s"$last-dirty"
  }

  private val withoutDependencies = new RewriteRule {
    override def transform(node: Node): Seq[Node] = node match {
      case e: Elem if e.label == "dependencies" => Nil
      case other                                => other
    }
  }

  private val papers = Def.task {
    val root = (ThisBuild / baseDirectory).value
    val into = (Compile / resourceManaged).value / "META-INF"
    val all  = Seq("LICENSE", "NOTICE", "THIRD-PARTY.txt").map(name => root / name -> into / name) :+
      ((Compile / makeBom).value -> into / "sbom" / "bom.json")
    all.map { case (paper, copy) => IO.copyFile(paper, copy); copy }
  }
}
