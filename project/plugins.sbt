// One JAR with everything but Spark and Scala in it, relocated.
addSbtPlugin("com.eed3si9n" % "sbt-assembly" % "2.3.1")
// The formatter of the Scala code; `scalafmtCheckAll` runs in `make test`.
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
