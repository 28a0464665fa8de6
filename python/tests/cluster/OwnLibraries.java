import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.StringValue;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.api.java.UDF2;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;

/** A user's function, which uses libraries of the user's that the connector has in other versions. */
public final class OwnLibraries implements UDF2<String, String, String> {
  /** Puts a text into the stream `own` by the user's SDK. The result is JSON: the JAR of each library's classes. */
  @Override
  public String call(String endpoint, String text) throws Exception {
    byte[] message = StringValue.of(text).toByteArray();
    try (KinesisAsyncClient client =
        KinesisAsyncClient.builder()
            .endpointOverride(URI.create(endpoint))
            .region(Region.US_EAST_1)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local")))
            .httpClientBuilder(NettyNioAsyncHttpClient.builder())
            .build()) {
      SdkBytes data = SdkBytes.fromUtf8String(StringValue.parseFrom(message).getValue());
      client.putRecord(put -> put.streamName("own").partitionKey(text).data(data)).get();
    }
    Map<String, String> found = new TreeMap<>();
    found.put("text", text);
    found.put("sdk", jarOf(KinesisAsyncClient.class));
    found.put("netty", jarOf(io.netty.util.Version.class));
    found.put("jackson", jarOf(ObjectMapper.class));
    found.put("protobuf", jarOf(StringValue.class));
    return new ObjectMapper().writeValueAsString(found);
  }

  private static String jarOf(Class<?> loaded) {
    return Path.of(loaded.getProtectionDomain().getCodeSource().getLocation().getPath()).getFileName().toString();
  }
}
