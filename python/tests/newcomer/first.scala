// The Scala of README.md in spark-shell, which compiles an object as a whole.
object First {
  def main(builtIn: org.apache.spark.sql.SparkSession): Unit = {
    val spark = new {
      def readStream = builtIn.readStream
        .option("endpoint", sys.env("ENDPOINT"))
        .option("accessKeyId", "local")
        .option("secretAccessKey", "local")
    }
    val orders = spark.readStream
      .format("kinesis")
      .option("streamName", "orders")
      .option("region", "eu-west-1")
      .option("startingPosition", "TRIM_HORIZON")
      .load()
    println(s"columns: ${orders.columns.mkString(",")}")
    orders.writeStream
      .format("memory")
      .queryName("orders")
      .trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow)
      .start()
      .awaitTermination()
    println(s"orders: ${builtIn.table("orders").count()}")
  }
}
First.main(spark)
System.exit(0)
