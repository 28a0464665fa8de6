package io.github.kinesisspark.it

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.local.LocalConfigKeys
import org.apache.hadoop.fs.permission.FsPermission

/** The local file system for `FileContext`, by which Spark writes checkpoints, without a process for each call.
  *
  * Hadoop's own starts `chmod` and `readlink` where its native library is missing: 20 processes for each micro-batch, which
  * took most of the batch's time. Permissions and links are the same here, by system calls. For
  * `fs.AbstractFileSystem.file.impl`.
  */
final class LocalFiles(uri: URI, conf: Configuration) extends ChecksumFs(new RawLocalFiles(uri, conf))

final private class RawLocalFiles(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(uri, new SystemCallFiles, conf, "file", false) {
  override def getUriDefaultPort: Int                          = -1
  override def isValidName(name: String): Boolean              = true
  override def getServerDefaults(path: Path): FsServerDefaults = LocalConfigKeys.getServerDefaults
}

final private class SystemCallFiles extends RawLocalFileSystem {

  override def setPermission(path: Path, permission: FsPermission): Unit = {
    // Without the sticky bit, which Java can't set and no test needs.
    val permissions = PosixFilePermissions.fromString(permission.toString.take(9).replace('t', 'x').replace('T', '-'))
    Files.setPosixFilePermissions(pathToFile(path).toPath, permissions): Unit
  }

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)
}
