// One system for tests that tolerate each other's records: each start costs four seconds of CPU. Audiences come last,
// because the others would read their 20,000 deliveries.
import './shared/main.ts'
import './shared/rejected.ts'
import './shared/live.ts'
import './shared/replays.ts'
import './shared/duplicates.ts'
import './shared/deliveries.ts'
import './shared/rules.ts'
import './shared/audiences.ts'
