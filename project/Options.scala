/** Options of the compiler and of JVMs, also for the build of the benchmarks. */
object Options {
  val scalac: Seq[String] = Seq(
    "-deprecation",
    "-feature",
    "-unchecked",
    "-Xsource:3",
    "-Xsource-features:case-apply-copy-access",
    "-Xlint:_,-byname-implicit",
    "-Wdead-code",
    "-Wunused",
    "-Werror",
    "-release:17"
  )

  val javac: Seq[String] = Seq("--release", "17")

  /** What Spark needs on JDK 17 (Spark's own JavaModuleOptions). */
  val spark: Seq[String] = Seq(
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar"
  ).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++
    Seq("-XX:+IgnoreUnrecognizedVMOptions", "-Djdk.reflect.useDirectMethodHandle=false")
}
