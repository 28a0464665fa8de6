// One JAR with everything but Spark and Scala in it, relocated.
addSbtPlugin("com.eed3si9n" % "sbt-assembly" % "2.3.1")
// The formatter of the Scala code; `scalafmtCheckAll` runs in `make test`.
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
// Runs protoc, which comes from Maven Central as well, over the KPL's message format.
addSbtPlugin("com.thesamet" % "sbt-protoc" % "1.0.8")

update := {
  val report = update.value
  _root_.io.github.kinesisspark.build.PinnedPlugins.check(
    report.matching(configurationFilter(name = "runtime")),
    baseDirectory.value / "plugins.sha256"
  )
  report
}
