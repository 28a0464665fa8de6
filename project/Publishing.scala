import scala.xml.{Elem, Node}
import scala.xml.transform.{RewriteRule, RuleTransformer}

import sbt._
import sbt.Keys._
import sbtassembly.AssemblyKeys._

/** A connector's JAR as an artifact of Maven: assembled, with a POM that has no dependencies, as all of them are in it. */
object Publishing {

  /** Where `sbt publish` leaves the artifacts of all lines, below the build's folder. */
  val Repository = "dist/maven"

  private val Site = "https://github.com/kinesisspark/kinesis-spark"

  def settings(line: SparkLine): Seq[Setting[_]] = Seq(
    description := s"Amazon Kinesis Data Streams for Apache Spark ${line.name}: source and sink of Structured Streaming",
    homepage          := Some(url(Site)),
    licenses          := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0.txt")),
    scmInfo           := Some(ScmInfo(url(Site), s"scm:git:$Site.git")),
    developers        := List(Developer("kinesis-spark", "The kinesis-spark project", "", url(Site))),
    versionScheme     := Some("semver-spec"),
    publishMavenStyle := true,
    publishTo         := Some(MavenCache("dist", (ThisBuild / baseDirectory).value / Repository)),
    pomPostProcess    := (pom => new RuleTransformer(withoutDependencies).transform(pom).head),
    Compile / packageBin / publishArtifact := false,
    Compile / assembly / artifact          := (Compile / packageBin / artifact).value,
    // Not the compiler's own: a warning of scaladoc is no error.
    Compile / doc / scalacOptions := Seq("-Xsource:3", "-Xsource-features:case-apply-copy-access", "-nowarn"),
    assembly / packageOptions := Seq(
      Package.ManifestAttributes(
        "Implementation-Title"   -> s"${name.value}_${scalaBinaryVersion.value}",
        "Implementation-Version" -> version.value,
        "Automatic-Module-Name"  -> "io.github.kinesisspark",
        "Built-For-Spark"        -> line.name,
        "Built-For-Scala"        -> scalaBinaryVersion.value
      ),
      // The same sources make the same bytes.
      Package.FixedTimestamp(Some(1262304000000L))
    ),
    Compile / resourceGenerators += Def.task(papers.value ++ Seq(sbom.value)).taskValue
  ) ++ addArtifact(Compile / assembly / artifact, assembly).settings

  private val withoutDependencies = new RewriteRule {
    override def transform(node: Node): Seq[Node] = node match {
      case e: Elem if e.label == "dependencies" => Nil
      case other                                => other
    }
  }

  private val papers = Def.task {
    Seq("LICENSE", "NOTICE", "THIRD-PARTY.txt").map { name =>
      val copy = (Compile / resourceManaged).value / "META-INF" / name
      IO.copyFile((ThisBuild / baseDirectory).value / name, copy)
      copy
    }
  }

  /** The libraries in the JAR, as CycloneDX lists them. */
  private val sbom = Def.task {
    val file      = (Compile / resourceManaged).value / "META-INF" / "sbom" / "bom.json"
    val libraries = (Runtime / externalDependencyClasspath).value
      .flatMap(_.get(moduleID.key))
      .filterNot(module => module.organization == "org.scala-lang" || module.organization == "org.slf4j")
      .map(module => (module.organization, module.name, module.revision))
      .distinct
      .sorted
    val components = libraries.map { case (group, name, version) =>
      s"""    {"type": "library", "group": "$group", "name": "$name", "version": "$version", "purl": "pkg:maven/$group/$name@$version"}"""
    }
    IO.write(
      file,
      components.mkString(
        "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"components\": [\n",
        ",\n",
        "\n  ]\n}\n"
      )
    )
    file
  }
}
