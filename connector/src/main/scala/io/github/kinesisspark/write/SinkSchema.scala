package io.github.kinesisspark.write

import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructType}

import io.github.kinesisspark.config.{SinkOptions, StreamRef}
import io.github.kinesisspark.error.ErrorCatalogue

/** The places of a sink's columns in its rows; none for absent columns. */
private[write] final case class SinkColumns(
    data: Int,
    isText: Boolean,
    partitionKey: Option[Int],
    explicitHashKey: Option[Int],
    targetStream: Option[Int]
)

/** The columns of a sink: `data` (binary or string), and optionally `partitionKey`, `explicitHashKey`, `targetStream` (string).
  *
  * A source's `streamName` names the stream that a row was read from. A sink refuses that column, so that rows which are passed on
  * as they were read can't go back into their own stream by accident.
  */
private[kinesisspark] object SinkSchema {

  /** @param kind the types that it may have, in words */
  final case class Column(name: String, kind: String, private[SinkSchema] val isFit: DataType => Boolean)

  private val text: DataType => Boolean = _.isInstanceOf[StringType]

  val columns: Seq[Column] = Seq(
    Column("data", "binary or string", kind => kind == BinaryType || text(kind)),
    Column("partitionKey", "string", text),
    Column("explicitHashKey", "string", text),
    Column("targetStream", "string", text)
  )

  /** @param stream the one of the options
    * @throws SinkSchemaException with every problem found
    */
  private[write] def columnsOf(schema: StructType, stream: Option[StreamRef]): SinkColumns = {
    val found    = columns.map(c => c.name -> schema.fields.indices.filter(i => isNamed(schema, i, c))).toMap
    val known    = found.values.flatten.toSet
    val problems =
      columns.flatMap { c =>
        val places = found(c.name)
        val twice  = Option.when(places.size > 1)(s"The column '${c.name}' is there ${places.size} times.")
        twice ++ places.map(schema.fields(_)).filterNot(f => c.isFit(f.dataType)).map { f =>
          s"The column '${f.name}' is of type ${f.dataType.simpleString}; it must be ${c.kind}."
        }
      } ++
        Option.when(found("data").isEmpty)("There is no column 'data' (binary or string), the payload.") ++
        Option.when(found("targetStream").isEmpty && stream.isEmpty)(
          "There is no stream to write to: set the option 'streamName' or 'streamArn', or give the rows a column 'targetStream'."
        ) ++
        schema.fields.indices.filterNot(known).map(i => unknown(schema.fields(i).name))
    if (problems.nonEmpty) throw new SinkSchemaException(problems)
    val data = found("data").head
    SinkColumns(
      data,
      text(schema.fields(data).dataType),
      found("partitionKey").headOption,
      found("explicitHashKey").headOption,
      found("targetStream").headOption
    )
  }

  private def unknown(name: String) =
    if (name.equalsIgnoreCase("streamName"))
      s"The column '$name' names the stream that a row was read from, and is not written. Drop it; to choose the stream that a row " +
        "goes to, name that column 'targetStream'."
    else s"Unknown column '$name'. Select only ${columns.map(_.name).mkString(", ")}."

  // As Spark resolves names by default.
  private def isNamed(schema: StructType, i: Int, column: Column) = schema.fields(i).name.equalsIgnoreCase(column.name)
}

/** The columns as given can't be written. All problems are reported at once.
  *
  * @param problems one sentence or two each
  */
final class SinkSchemaException(val problems: Seq[String])
    extends IllegalArgumentException(
      problems
        .mkString(
          s"[${SinkSchemaException.ErrorClass}] ",
          " ",
          s" ${SinkOptions.SchemaOfReader}${ErrorCatalogue.suffix(SinkSchemaException.ErrorClass)}"
        )
    ) {

  /** The stable name that monitoring can match on; the message starts with it, as Spark's do. */
  def errorClass: String = SinkSchemaException.ErrorClass
}

object SinkSchemaException {
  val ErrorClass = "KINESIS_SINK_SCHEMA"
}
