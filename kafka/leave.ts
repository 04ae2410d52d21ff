import type { Admin, Consumer } from 'kafkajs'
import { CLOSE_MS, type Connection, within } from './client.ts'

/** Ends the consumer of a group that committed nothing, with its admin client, in {@link CLOSE_MS} at most. */
export const leaveForGood = (
  group: { consumer: Consumer; admin: Admin; groupId: string },
  log: Connection['log'],
): Promise<void> => within(CLOSE_MS, leave(group, log))

async function leave(
  { consumer, admin, groupId }: { consumer: Consumer; admin: Admin; groupId: string },
  log: Connection['log'],
): Promise<void> {
  await consumer.disconnect()
  // without offsets the broker forgets it by itself as well
  await admin.deleteGroups([groupId]).catch((err) => log.debug({ err, groupId }, 'group not deleted'))
  await admin.disconnect()
}
