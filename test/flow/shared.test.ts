// One system, as each start costs four seconds of CPU: these tests tolerate each other's records. Audiences come last:
// they make 20,000 deliveries.
import './shared/main.ts'
import './shared/rejected.ts'
import './shared/live.ts'
import './shared/replays.ts'
import './shared/duplicates.ts'
import './shared/deliveries.ts'
import './shared/rules.ts'
import './shared/workspaces.ts'
import './shared/audiences.ts'
