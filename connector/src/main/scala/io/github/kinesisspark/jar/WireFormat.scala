package io.github.kinesisspark.jar

import java.io.{
  ByteArrayInputStream,
  ByteArrayOutputStream,
  InputStream,
  ObjectInputStream,
  ObjectOutputStream,
  ObjectStreamClass
}

import scala.collection.concurrent.TrieMap

/** Values as bytes. Classes are looked up by the class loader that has this JAR, which the threads of Spark's RPC don't know. */
private[kinesisspark] object WireFormat {
  def write(value: AnyRef): Array[Byte] = {
    val bytes  = new ByteArrayOutputStream
    val stream = new ObjectOutputStream(bytes)
    stream.writeObject(value)
    stream.close()
    bytes.toByteArray
  }

  def read[A](bytes: Array[Byte]): A =
    new OwnClasses(new ByteArrayInputStream(bytes)).readObject().asInstanceOf[A]

  // A look takes long enough to matter where messages are a few hundred bytes.
  private val known = TrieMap.empty[String, Class[_]]

  private def find(name: String) = Class.forName(name, false, WireFormat.getClass.getClassLoader)

  private final class OwnClasses(bytes: InputStream) extends ObjectInputStream(bytes) {
    override def resolveClass(described: ObjectStreamClass): Class[_] =
      try known.getOrElseUpdate(described.getName, find(described.getName))
      catch { case _: ClassNotFoundException => super.resolveClass(described) } // A primitive type.
  }
}
