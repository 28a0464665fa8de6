package io.github.kinesisspark.simulation

import java.lang.reflect.{Field, Modifier}
import java.util.IdentityHashMap
import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable
import scala.jdk.CollectionConverters._

/** How much the engine keeps in a process: the elements of each collection that can be reached from what lives as long as the process, by the class and
  * field that have it. What is of the simulation, of the SDK or of Spark is not followed, nor are positions and records.
  */
private[simulation] object Census {
  def of(roots: AnyRef*): Map[String, Int] = {
    val found                                             = mutable.HashMap.empty[String, Int]
    val seen                                              = new IdentityHashMap[AnyRef, AnyRef]
    val left                                              = mutable.Queue.from(roots.map("" -> _))
    def add(place: String, elements: Iterator[Any]): Unit = {
      var count = 0
      elements.foreach { element =>
        count += 1
        visit(s"$place*", element)
      }
      found(place) = found.getOrElse(place, 0) + count
    }
    def visit(place: String, value: Any): Unit = value match {
      case null                     => ()
      case it: AnyRef if isLeaf(it) => ()
      case it: AnyRef               => if (seen.put(it, it) == null) left += place -> it
      case _                        => ()
    }
    while (left.nonEmpty) left.dequeue() match {
      case (place, it: java.util.Map[_, _]) =>
        add(place, it.entrySet.asScala.iterator.map { e => visit(s"$place*", e.getKey); e.getValue: Any })
      case (place, it: java.util.Collection[_]) => add(place, it.asScala.iterator)
      case (place, it: collection.Map[_, _])   => add(place, it.iterator.map { case (k, v) => visit(s"$place*", k); v })
      case (place, it: Option[_])              => it.foreach(visit(place, _))
      case (place, it: collection.Iterable[_]) => add(place, it.iterator)
      case (place, it: AtomicReference[_])     => visit(place, it.get)
      case (place, it: Array[AnyRef])          => add(place, it.iterator)
      case (_, it: Product) if it.getClass.getName.startsWith("scala.") =>
        it.productIterator.foreach(visit(it.getClass.getSimpleName, _))
      case (_, it) =>
        fieldsOf(it.getClass).foreach(field => visit(nameOf(field), field.get(it)))
    }
    found.toMap
  }

  private def nameOf(field: Field) =
    s"${field.getDeclaringClass.getName.split('.').last}.${field.getName}"

  private val Own = "io.github.kinesisspark."

  private def isLeaf(value: AnyRef) = {
    val name = value.getClass.getName
    value match {
      case _: java.util.Map[_, _] | _: java.util.Collection[_] | _: collection.Iterable[_] | _: Option[_] |
          _: AtomicReference[_] | _: Array[AnyRef] =>
        false
      case _ =>
        value.isInstanceOf[Throwable] || name.contains("$$Lambda") || !(name.startsWith(Own) || name.startsWith(
          "scala.Tuple"
        ) || name.startsWith("scala.util.")) ||
        Skipped.exists(part => name.startsWith(Own + part))
    }
  }

  private val Skipped =
    Vector(
      "simulation.",
      "position.",
      "read.reader.RecordBuffer",
      "read.reader.AnswerRecords",
      "read.plan.Boundaries",
      "read.reader.ReaderConfig",
      "read.task.",
      "config."
    )

  private val fields = mutable.HashMap.empty[Class[_], Vector[Field]]

  private def fieldsOf(of: Class[_]): Vector[Field] = fields.synchronized(
    fields.getOrElseUpdate(
      of, {
        val all = Iterator
          .iterate[Class[_]](of)(_.getSuperclass)
          .takeWhile(c => c != null && c != classOf[Object])
          .flatMap(_.getDeclaredFields)
        val own = all.filter(f => !Modifier.isStatic(f.getModifiers) && !f.getType.isPrimitive).toVector
        own.foreach(_.setAccessible(true))
        own
      }
    )
  )
}
