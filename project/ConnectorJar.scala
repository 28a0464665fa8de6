import scala.xml.{Elem, Node}
import scala.xml.transform.{RewriteRule, RuleTransformer}

import sbt._
import sbt.Keys._
import sbtassembly.AssemblyPlugin.autoImport.{MergeStrategy => _, _}
import sbtassembly.MergeStrategy
import com.github.sbt.sbom.BomSbtPlugin.autoImport._
import com.github.sbt.sbom.BomSbtSettings

import _root_.io.github.kinesisspark.build.SourceCommit

/** The connector's JAR for a line of Spark: everything but Spark and Scala in it, relocated, as an artifact of Maven. Its POM has no
  * dependencies, as all of them are in it.
  */
object ConnectorJar {
  private val ShadedPackage = "io.github.kinesisspark.shaded"
  private val Site          = "https://github.com/kinesisspark/kinesis-spark"

  /** sbt's own JAR, without the dependencies, must not take the place of the assembled one. */
  val thinJarAside: Setting[_] =
    Compile / packageBin / artifactPath := target.value / "thin" / s"${name.value}-${version.value}.jar"

  /** What a JAR has in META-INF: the licence files, and the list of its libraries in the format of CycloneDX. Each build gives the same bytes. */
  val papers: Seq[Setting[_]] = Seq(
    Compile / resourceGenerators += licences.taskValue,
    // With what is there at run time alone, like the JAR.
    makeBom := Def.taskDyn(BomSbtSettings.makeBomTask(update.value, Runtime)).value,
    Compile / resourceGenerators += Def.task {
      val file = (Compile / resourceManaged).value / "META-INF" / "sbom" / "bom.json"
      IO.copyFile((Compile / makeBom).value, file)
      Seq(file)
    }.taskValue,
    bomFormat              := "json",
    bomFileName            := "bom.json",
    includeBomTimestamp    := false,
    includeBomSerialNumber := false,
    enableBomSha3Hashes    := false
  )

  def settings(line: SparkLine): Seq[Setting[_]] = papers ++ publishing(line) ++ Seq(
    name := s"kinesis-spark-${line.name}",
    // sbt would write 3-5.
    moduleName                                := name.value,
    libraryDependencies += "org.apache.spark" %% "spark-sql" % line.spark % Provided,
    Compile / resourceGenerators += properties(line).taskValue,
    assembly / assemblyJarName := s"${name.value}_${scalaBinaryVersion.value}-${version.value}.jar",
    assembly / assemblyOption ~= (_.withIncludeScala(false)),
    assembly / test                  := {},
    assembly / assemblyShadeRules    := relocation.value,
    assembly / assemblyMergeStrategy := mergeStrategy,
    assembly / packageOptions        := Seq(
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
    )
  )

  private def publishing(line: SparkLine): Seq[Setting[_]] = Seq(
    description := s"Amazon Kinesis Data Streams for Apache Spark ${line.name}: source and sink of Structured Streaming",
    homepage       := Some(url(Site)),
    licenses       := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0.txt")),
    scmInfo        := Some(ScmInfo(url(Site), s"scm:git:$Site.git")),
    developers     := List(Developer("kinesis-spark", "The kinesis-spark project", "", url(Site))),
    versionScheme  := Some("semver-spec"),
    publishTo      := Some(MavenCache("dist", (ThisBuild / baseDirectory).value / "dist" / "maven")),
    pomPostProcess := (pom => new RuleTransformer(withoutDependencies).transform(pom).head),
    Compile / packageBin / publishArtifact := false,
    Compile / assembly / artifact          := (Compile / packageBin / artifact).value,
    // Not the compiler's own: a warning of scaladoc is no error.
    Compile / doc / scalacOptions := Seq("-Xsource:3", "-Xsource-features:case-apply-copy-access", "-nowarn")
  ) ++ addArtifact(Compile / assembly / artifact, assembly).settings

  private val commit = Def.task(SourceCommit.of((ThisBuild / baseDirectory).value))

  /** What the connector knows of its JAR. */
  private def properties(line: SparkLine) = Def.task {
    val file = (Compile / resourceManaged).value / "META-INF" / "kinesis-spark.properties"
    val all  = Seq(
      "version" -> version.value,
      "commit"  -> commit.value,
      "spark"   -> line.name,
      "scala"   -> scalaBinaryVersion.value
    )
    IO.writeLines(file, all.map { case (key, value) => s"$key=$value" })
    Seq(file)
  }

  private def licences = Def.task {
    val root = (ThisBuild / baseDirectory).value
    val into = (Compile / resourceManaged).value / "META-INF"
    Seq("LICENSE", "NOTICE", "THIRD-PARTY.txt").map { name =>
      IO.copyFile(root / name, into / name)
      into / name
    }
  }

  private val withoutDependencies = new RewriteRule {
    override def transform(node: Node): Seq[Node] = node match {
      case e: Elem if e.label == "dependencies" => Nil
      case other                                => other
    }
  }

  private val packages = Seq(
    "software.amazon.awssdk",
    "software.amazon.eventstream",
    "io.netty",
    "org.reactivestreams",
    "ujson",
    "upickle",
    "geny",
    "com.google.protobuf"
  )

  // What Scala 2.12 lacks of 2.13's library.
  private val packages212 =
    Seq("scala.collection.compat", "scala.util.control.compat", "scala.util.matching.compat", "scala.jdk")
  private val classes212 =
    Seq("scala.util.Using", "scala.util.Chaining", "scala.util.chaining", "scala.annotation.unused")

  /** Everything that is not the connector's own gets names of its own, so that it can't clash with Spark's. */
  private val relocation = Def.setting {
    val is212 = scalaBinaryVersion.value == "2.12"
    val names = (if (is212) packages ++ packages212 else packages).map(p => s"$p.**" -> s"$ShadedPackage.$p.@1") ++
      (if (is212) classes212 else Nil).map(c => s"$c*" -> s"$ShadedPackage.$c@1")
    Seq(ShadeRule.rename(names: _*).inAll)
  }

  private def mergeStrategy: String => MergeStrategy = {
    case PathList("META-INF", "services", _*)                 => MergeStrategy.filterDistinctLines
    case PathList("META-INF", "MANIFEST.MF" | "INDEX.LIST")   => MergeStrategy.discard
    case PathList("META-INF", "io.netty.versions.properties") => MergeStrategy.discard
    case PathList("META-INF", "native-image", _*)             => MergeStrategy.discard
    case PathList("META-INF", "maven", _*)                    => MergeStrategy.discard
    case PathList("META-INF", "versions", _*)                 => MergeStrategy.discard
    case path if path.endsWith("module-info.class")           => MergeStrategy.discard
    case path if path.endsWith(".proto")                      => MergeStrategy.discard
    // Sources and test data in the libraries' JARs, and what nothing reads there.
    case "VersionInfo.java" | "utf8.json" | "mime.types" | "scala-collection-compat.properties" => MergeStrategy.discard
    // Ours needs no 2 MiB for each subscription.
    case path if path.endsWith("eventstream/MessageDecoder.class") => MergeStrategy.preferProject
    // Ours, and THIRD-PARTY.txt, say what those of the libraries say.
    case PathList("META-INF", "LICENSE" | "NOTICE") => MergeStrategy.preferProject
    case PathList("META-INF", file) if file.matches("(?i).*(LICENSE|NOTICE|DEPENDENCIES).*") => MergeStrategy.rename
    case PathList("META-INF", _*)                                                            => MergeStrategy.first
    case _ => MergeStrategy.deduplicate
  }
}
