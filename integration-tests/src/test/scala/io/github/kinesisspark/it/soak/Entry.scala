package io.github.kinesisspark.it.soak

import java.nio.ByteBuffer

/** What a record of the soak says: its key, and which of the key's records it is, from 1 on. */
final case class Entry(key: Int, number: Long) {
  def partitionKey: String = s"k$key"

  def data: Array[Byte] = ByteBuffer.allocate(Entry.Size).putInt(key).putLong(number).array
}

object Entry {

  /** Bytes of data: two numbers, and room to weigh something. */
  val Size = 256

  def read(data: Array[Byte]): Entry = {
    val in = ByteBuffer.wrap(data)
    Entry(in.getInt, in.getLong)
  }
}
