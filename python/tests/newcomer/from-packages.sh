#!/usr/bin/env bash
# From the JAR, and from Maven coordinates, to the first query: from-packages.sh CLONE FOLDER. It builds what is missing or out of
# date in the clone's dist/. The query needs Java and Spark 4, whose spark-submit is on the PATH, and nothing of Python's.
set -euo pipefail
clone=$1
folder=$2
here=$clone/python/tests/newcomer
export MASTER='local-cluster[2,1,1024]'

cd "$clone"
make package
# The stamp is as new as the JARs.
[ dist/maven -nt dist/.jars-0.1.0-SNAPSHOT ] || make publish-local

cp "$here/program.py" "$here/first.scala" "$folder/"
cd "$folder"
ln -s "$clone/dist" dist
# Packages of earlier runs stay out.
mkdir conf
echo "spark.jars.ivy $folder/ivy" > conf/spark-defaults.conf
export SPARK_CONF_DIR=$folder/conf

# Ends when its standard input does.
mkfifo server-input
java -jar dist/kinesis-spark-testkit-0.1.0-SNAPSHOT.jar --stream orders:2 --port-file port.json --exit-with-stdin < server-input > server.log 2>&1 &
exec 9> server-input
until [ -s port.json ]; do sleep 0.1; done
ENDPOINT=$(sed 's/.*"endpoint":"\([^"]*\)".*/\1/' port.json)
export ENDPOINT

spark-submit --master "$MASTER" --jars dist/kinesis-spark-4_2.13-0.1.0-SNAPSHOT.jar program.py
spark-submit --repositories "file:$PWD/dist/maven" --packages io.github.kinesisspark:kinesis-spark-4_2.13:0.1.0-SNAPSHOT program.py
spark-shell --master 'local[2]' --jars dist/kinesis-spark-4_2.13-0.1.0-SNAPSHOT.jar -i first.scala < /dev/null
