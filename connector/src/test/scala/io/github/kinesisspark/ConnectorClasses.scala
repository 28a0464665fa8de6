package io.github.kinesisspark

import com.tngtech.archunit.ArchConfiguration
import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.ClassFileImporter

/** The connector as it is compiled. */
private object ConnectorClasses {
  val root = "io.github.kinesisspark"

  lazy val all: JavaClasses = {
    // The rules look at the names of others' classes, not into Spark and the AWS SDK.
    ArchConfiguration.get.setResolveMissingDependenciesFromClassPath(false)
    new ClassFileImporter()
      // ArchUnit's own option for it doesn't know sbt's directories.
      .withImportOption(!_.contains("/test-classes/"))
      .importPackages(root, "org.apache.spark.kinesisspark", "software.amazon.eventstream")
  }
}
