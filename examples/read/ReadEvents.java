import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.net.URI;
import java.net.http.*;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.*;
import org.apache.avro.Schema;
import org.apache.avro.generic.*;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.*;

/** Prints Sluice's topics as JSON, without duplicate events. Arguments: BROKERS REGISTRY_URL GROUP TOPIC ... */
public class ReadEvents {
  static final int UNKNOWN_SCHEMA = 40403;
  static final Map<Integer, Schema> schemas = new HashMap<>();
  static final Set<String> seen = Collections.newSetFromMap(new LinkedHashMap<>() {
    protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) { return size() > 1_000_000; }
  });

  public static void main(String[] args) throws Exception {
    // in some locales, such as C, Java would print letters beyond ASCII as question marks
    System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8));
    Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "group.id", args[2],
        "auto.offset.reset", "earliest", "enable.auto.commit", "false");
    var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer());
    var reader = Thread.currentThread();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      consumer.wakeup();
      try { reader.join(); } catch (InterruptedException ended) { /* the JVM exits anyway */ }
    }));
    try (consumer) {
      consumer.subscribe(List.of(args).subList(3, args.length));
      while (true) {
        var records = consumer.poll(Duration.ofMillis(500));
        for (var record : records) if (!isDuplicate(record)) print(record, args[1]);
        if (!records.isEmpty()) consumer.commitSync(); // after the work: a crash before this repeats it
      }
    } catch (WakeupException stopped) { /* Ctrl-C or SIGTERM */ }
  }

  /** Compares messageId and key; the key contains source and user. Duplicates from before the start are not recognized. */
  static boolean isDuplicate(ConsumerRecord<String, byte[]> record) throws Exception {
    var messageId = record.headers().lastHeader("messageId");
    if (messageId == null) return false;
    var key = MessageDigest.getInstance("SHA-256").digest(String.valueOf(record.key()).getBytes(UTF_8)); // a key may have 32 KB
    return !seen.add(Base64.getEncoder().encodeToString(key) + new String(messageId.value(), UTF_8));
  }

  /** Skips and reports records that cannot be decoded. An error of the registry ends the program. */
  static void print(ConsumerRecord<String, byte[]> record, String registryUrl) throws Exception {
    try {
      System.out.println(decode(record.value(), registryUrl));
    } catch (RuntimeException | OutOfMemoryError undecodable) { // bytes that are not Avro may claim a list of any size
      System.err.printf("%s, partition %d, offset %d: cannot be decoded, skipped: %s%n",
          record.topic(), record.partition(), record.offset(), undecodable);
    }
  }

  /** The format is a zero byte, 4 bytes with the schema id, and the Avro body. */
  static GenericRecord decode(byte[] value, String registryUrl) throws Exception {
    if (value[0] != 0) throw new IllegalArgumentException("not Confluent's wire format");
    int id = ByteBuffer.wrap(value).getInt(1);
    if (!schemas.containsKey(id)) schemas.put(id, fetch(registryUrl + "/schemas/ids/" + id));
    var body = DecoderFactory.get().binaryDecoder(value, 5, value.length - 5, null);
    try {
      return new GenericDatumReader<GenericRecord>(schemas.get(id)).read(null, body);
    } catch (IOException notAvro) { // the value ends early, or a number is too long
      throw new IllegalArgumentException(notAvro);
    }
  }

  static Schema fetch(String url) throws Exception {
    var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
    var body = new ObjectMapper().readTree(answer.body());
    if (body.path("error_code").asInt() == UNKNOWN_SCHEMA) throw new IllegalArgumentException("unknown schema");
    if (answer.statusCode() != 200 || !body.has("schema")) throw new IOException(url + " answered " + answer.statusCode());
    return new Schema.Parser().parse(body.get("schema").asText());
  }
}
