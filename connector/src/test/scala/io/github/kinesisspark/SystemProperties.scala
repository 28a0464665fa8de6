package io.github.kinesisspark

/** Runs work of a test with other system properties, which the AWS SDK reads like the variables of its environment. */
object SystemProperties {
  def within[A](properties: (String, String)*)(work: => A): A = {
    val before = properties.map { case (name, value) => name -> Option(System.setProperty(name, value)) }
    try work
    finally before.foreach { case (name, old) => old.fold(System.clearProperty(name))(System.setProperty(name, _)) }
  }
}
