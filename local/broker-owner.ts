import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { LocalFault } from './fault.ts'
import { isAlive, processFacts } from './process-facts.ts'

const owner = z.object({ pid: z.number(), started: z.string() })

/** Remembers which process runs on the folder. */
export async function recordOwner(file: string, pid: number): Promise<void> {
  await writeFile(file, JSON.stringify({ pid, started: processFacts(pid)?.started ?? '' }))
}

/**
 * A broker whose `npm start` was killed ends within a second: waits for that. Kafka's own lock on the folder does not do: a second
 * broker is at the first one's metadata before it asks for the lock (decision 4).
 * @throws LocalFault already_running
 */
export async function awaitPreviousOwner(file: string, directory: string, patienceMs = 3_000): Promise<void> {
  const previous = owner.safeParse(parseJson(await readFile(file, 'utf8').catch(() => '')))
  if (!previous.success) return
  const { pid, started } = previous.data
  for (let waited = 0; isAlive(pid, started); waited += 50) {
    if (waited >= patienceMs)
      throw new LocalFault('already_running', `A broker (pid ${pid}) still runs on ${directory}.`)
    await sleep(50)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
