-- Topic events in DuckDB, from the files of events_to_files.py. Run in the parent of the folder `files`: duckdb < events.sql

CREATE VIEW written AS
SELECT * REPLACE (
  epoch_ms(timestamp) AS timestamp, epoch_ms(receivedAt) AS receivedAt,
  epoch_ms(sentAt) AS sentAt, epoch_ms(originalTimestamp) AS originalTimestamp
)
FROM read_json('files/*/*.ndjson', format = 'newline_delimited', hive_partitioning = true, hive_types = {day: DATE}, columns = {
  messageId: 'VARCHAR', sourceId: 'VARCHAR', type: 'VARCHAR', userId: 'VARCHAR', anonymousId: 'VARCHAR', event: 'VARCHAR',
  name: 'VARCHAR', category: 'VARCHAR', groupId: 'VARCHAR', previousId: 'VARCHAR', properties: 'VARCHAR', traits: 'VARCHAR',
  context: 'VARCHAR', integrations: 'VARCHAR', timestamp: 'BIGINT', receivedAt: 'BIGINT',
  sentAt: 'BIGINT', originalTimestamp: 'BIGINT'
});

-- without duplicates, and without events from before a user was deleted
CREATE VIEW events AS
SELECT * FROM written
WHERE type <> 'delete' AND NOT EXISTS (
  SELECT 1 FROM written AS deleted
  WHERE deleted.type = 'delete' AND deleted.sourceId = written.sourceId AND deleted.userId = written.userId
    AND deleted.receivedAt >= written.receivedAt
)
QUALIFY row_number() OVER (
  PARTITION BY sourceId, userId, CASE WHEN userId IS NULL THEN anonymousId END, messageId ORDER BY receivedAt
) = 1;

-- number of events by day and type
SELECT day, sourceId, type, count(*) AS events FROM events GROUP BY ALL ORDER BY ALL;

-- users by event and a property; DuckDB cannot read JSON with half of a surrogate pair
SELECT event, CASE WHEN json_valid(properties) THEN properties ->> '$.plan' END AS plan, count(DISTINCT coalesce(userId, anonymousId)) AS users
FROM events WHERE type = 'track' GROUP BY ALL ORDER BY ALL;

-- for other engines; the new files no longer contain deleted users
COPY (SELECT * FROM events) TO 'parquet' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (day), OVERWRITE);
