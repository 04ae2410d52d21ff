import { connect } from 'node:net'
import type { Connection } from '../kafka/client.ts'
import { groupsOf, withAdmin } from './kafka/topics.ts'

/** Member id to group, both as named on the broker. */
export type Members = ReadonlyMap<string, string>

/** The members of all groups whose names begin with `name`. */
export async function membersOf(connection: Connection, name: string): Promise<Members> {
  const ids = await groupsOf(connection, name)
  if (ids.length === 0) return new Map()
  const described = await withAdmin(connection, (admin) => admin.describeGroups(ids))
  return new Map(
    described.groups.flatMap(({ groupId, members }) => members.map(({ memberId }) => [memberId, groupId])),
  )
}

/**
 * Makes members leave their groups at once, instead of 10 s after a `kill -9`. Sends LeaveGroup, version 3, because
 * kafkajs does so only for itself. The broker must be the only one.
 */
export async function endSessions(broker: string, members: Members): Promise<void> {
  const [host, port] = broker.split(':')
  const socket = connect(Number(port), host)
  try {
    for (const [member, group] of members) {
      socket.write(leaveGroup(member, group))
      await answer(socket)
    }
  } finally {
    socket.destroy()
  }
}

function leaveGroup(member: string, group: string): Buffer {
  const API_KEY = 13
  const body = Buffer.concat([
    int(API_KEY, 2),
    int(3, 2), // version
    int(0, 4), // correlation id
    text('test'),
    text(group),
    int(1, 4), // members
    text(member),
    int(-1, 2), // no instance id
  ])
  return Buffer.concat([int(body.length, 4), body])
}

function int(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  buffer.writeIntBE(value, 0, bytes)
  return buffer
}

const text = (value: string) => Buffer.concat([int(Buffer.byteLength(value), 2), Buffer.from(value)])

/** Length, correlation id, throttle time, the group's error (0: none). They arrive in one piece. */
async function answer(socket: ReturnType<typeof connect>): Promise<void> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the broker has closed the connection')))
  })
  const error = bytes.readInt16BE(12)
  if (error !== 0) throw new Error(`a member could not leave its group: error ${error}`)
}
