// One JAR with everything but Spark and Scala in it, relocated.
addSbtPlugin("com.eed3si9n" % "sbt-assembly" % "2.3.1")
// The formatter of the Scala code; `scalafmtCheckAll` runs in `make test`.
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
// Runs protoc, which comes from Maven Central as well, over the KPL's message format.
addSbtPlugin("com.thesamet" % "sbt-protoc" % "1.0.8")
// The connector for each line of Spark and Scala, from the same sources.
addSbtPlugin("com.eed3si9n" % "sbt-projectmatrix" % "0.11.0")
// The list of the libraries in a JAR, as CycloneDX has it.
addSbtPlugin("com.github.sbt" % "sbt-sbom" % "0.5.0")
// The version, by the tag of a release.
addSbtPlugin("com.github.sbt" % "sbt-dynver" % "5.1.1")
// Two are left out. sbt-buildinfo writes a class, which each commit would compile anew, and of two JARs on one class path only
// one's could be read: a resource has version and commit (ConnectorJar.scala). sbt-ci-release holds the key while it builds, and
// publishes from sbt: here a job of its own signs what was built and attested before (python/tools/release.py). Its tags and names
// of secrets are kept.

update := {
  val report = update.value
  _root_.io.github.kinesisspark.build.PinnedPlugins.check(
    report.matching(configurationFilter(name = "runtime")),
    baseDirectory.value / "plugins.sha256"
  )
  report
}
