import { fork, type Serializable } from 'node:child_process'
import { once } from 'node:events'

/** Ends with this process. */
export type Forked = {
  pid: number
  /** The script's next message. */
  next<Message>(): Promise<Message>
  /** One question at a time. */
  ask<Answer>(question: Serializable): Promise<Answer>
  stop(): Promise<void>
}

export function forkScript(script: URL, ...args: string[]): Forked {
  const child = fork(script, args)
  if (child.pid === undefined) throw new Error(`${script.pathname} does not start`)
  const exited = once(child, 'exit')

  async function next<Message>(): Promise<Message> {
    const ended = exited.then(() => Promise.reject(new Error(`${script.pathname} has ended`)))
    // our own scripts: the caller names the type that the script sends
    const [message] = (await Promise.race([once(child, 'message'), ended])) as [Message]
    return message
  }

  return {
    pid: child.pid,
    next,
    ask(question) {
      child.send(question)
      return next()
    },
    async stop() {
      child.kill('SIGKILL') // also ends a paused process
      await exited
    },
  }
}
